// What a rank does with its own part and the other's.
#include "train/learner.h"

#include "kept_windows.h"
#include "test.h"
#include "tiny_arena.h"

using namespace chargpt;

namespace {

/// The second of two ranks, of which the first sums and gives what it is told to.
class SecondRank : public Communicator {
 public:
  int rank() const override { return 1; }
  int ranks() const override { return 2; }
  void sum(std::span<float> values) override {
    for (float& value : values) value += added;
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own) override {
    return {first_gives, {own.begin(), own.end()}};
  }
  template <class Value>
  void give(const std::vector<Value>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    first_gives.assign(bytes.begin(), bytes.end());
  }
  float added = 0;
  std::vector<std::byte> first_gives;
};

/// The loss of a position is where its window starts.
class StartScorer : public WindowScorer {
 public:
  void score(const WindowBatch& windows, std::span<float> losses) override {
    for (std::int64_t i = 0; i < windows.numel(); ++i)
      losses[static_cast<std::size_t>(i)] = static_cast<float>(windows.starts[static_cast<std::size_t>(i / windows.T)]);
  }
};

}  // namespace

TEST_CASE("losses and gradients of two ranks are added, and an infinite sum of either is not finite") {
  SecondRank ranks;
  TinyArena arena;
  const auto whole = [&](float gradient, float other_gradient, double other_loss) {
    std::ranges::fill(arena.gradients.all(), 0.0F);
    arena.gradients.data()[0] = gradient;
    ranks.added = other_gradient;
    ranks.give<double>({other_loss});
    return summed(ranks, arena, {.loss = 1.5});
  };
  const Gradients plain = whole(3, 0, 0.25);
  CHECK(plain.loss == 1.75);
  CHECK(plain.norm == 3);
  CHECK(plain.finite());
  CHECK_FALSE(whole(3e38F, 3e38F, 0.25).finite());
  CHECK_FALSE(whole(3, 0, std::numeric_limits<double>::infinity()).finite());
}

TEST_CASE("the second of two ranks computes and scores the last windows, and has all losses") {
  SecondRank ranks;
  StartScorer own;
  SharedScorer scorer(own, ranks);
  ranks.give<float>({-1, -1, -2, -2, -3, -3});  // of the windows that it has
  std::vector<float> losses(10);
  scorer.score(kept_windows(std::vector<std::int64_t>(15), 5), losses);
  CHECK(losses == std::vector<float>{-1, -1, -2, -2, -3, -3, 9, 9, 12, 12});
}
