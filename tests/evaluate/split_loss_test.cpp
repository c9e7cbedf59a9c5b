// Whole-split loss against a loop over characters, with a scorer whose loss depends on everything in a target's
// window.
#include "evaluate/split_loss.h"

#include <set>

#include "base/error.h"
#include "token_text.h"

namespace chargpt {
namespace {

/// The loss that FakeScorer gives a target that sees the `length` tokens at `context`.
float loss_of(const std::int64_t* context, std::int64_t length, std::int64_t target) {
  std::int64_t hash = 17;
  for (std::int64_t i = 0; i < length; ++i) hash = (hash * 31 + context[i] + 1) % 1000003;
  return static_cast<float>((hash * 31 + target) % 1009) / 64;
}

class FakeScorer : public WindowScorer {
 public:
  void score(const WindowBatch& windows, std::span<float> losses) override {
    shapes.push_back({windows.B(), windows.T});
    Ids x(losses.size()), y(losses.size());
    windows.copy_inputs(x.data());
    windows.copy_targets(y.data());
    for (std::int64_t b = 0; b < windows.B(); ++b)
      for (std::int64_t t = 0; t < windows.T; ++t) {
        const auto at = static_cast<std::size_t>(b * windows.T + t);
        losses[at] = loss_of(x.data() + b * windows.T, t + 1, y[at]);
      }
  }
  std::vector<Ids> shapes;
};

struct Text {
  explicit Text(std::int64_t n, std::uint64_t symbols = 50) : ids(static_cast<std::size_t>(n)) {
    RandomStream random(7, Purpose::windows);
    for (auto& id : ids) id = static_cast<std::uint16_t>(random.below(symbols));
  }
  TokenView view() const { return view_of(ids); }
  /// Of target i (character i + 1) in a window that begins at `begin`.
  float loss(std::int64_t begin, std::int64_t i) const {
    const Ids context(ids.begin() + begin, ids.begin() + i + 1);
    return loss_of(context.data(), std::ssize(context), ids[static_cast<std::size_t>(i + 1)]);
  }
  std::vector<std::uint16_t> ids;
};

/// Every target in the first window that holds it.
std::vector<float> by_hand(const Text& text, std::int64_t block_size, std::int64_t stride) {
  std::vector<float> losses;
  for (std::int64_t i = 0; i + 1 < std::ssize(text.ids); ++i) {
    std::int64_t begin = 0;
    while (i >= begin + block_size) begin += stride;
    losses.push_back(text.loss(begin, i));
  }
  return losses;
}

}  // namespace

TEST_CASE("every character is scored once, with at least block_size - stride of context, the last window short") {
  for (const auto& [block, stride] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {8, 8}, {8, 1}, {8, 3}, {8, 7}, {1, 1}, {1'000'000, 1'000'000}})
    for (const std::int64_t n : {2, 3, 8, 9, 10, 12, 16, 17, 18, 50, 61}) {
      INFO(n << " characters, block " << block << ", stride " << stride);
      const Text text(n);
      FakeScorer scorer;
      const SplitLoss loss = split_loss(scorer, text.view(), block, stride);
      CHECK(std::ssize(loss.losses) == n - 1);
      CHECK(loss.losses == by_hand(text, block, stride));
      double sum = 0;
      for (const float one : loss.losses) sum += one;
      CHECK(loss.mean == Approx(sum / static_cast<double>(n - 1)));
    }
}

TEST_CASE("windows run in batches of the tokens that the scorer takes at once, one at least") {
  FakeScorer scorer;
  const Text text(10'000);
  split_loss(scorer, text.view(), 100);
  CHECK(std::set<Ids>(scorer.shapes.begin(), scorer.shapes.end()) == std::set<Ids>{{40, 100}, {19, 100}, {1, 99}});
  scorer.shapes.clear();
  split_loss(scorer, text.view(), 5000);
  CHECK(scorer.shapes.front() == Ids{1, 5000});
  CHECK(logits_at_once(4096, 65) == 4096);
  CHECK(logits_at_once(4096, 65'536) == 256);
}

TEST_CASE("a split without a predictable character and an impossible stride are named") {
  FakeScorer scorer;
  const Text text(20);
  CHECK_THROWS_WITH(split_loss(scorer, text.view().slice(0, 1), 8),
                    "the split has 1 tokens; a loss needs at least 2, one to predict from and one to predict");
  CHECK_THROWS_WITH(split_loss(scorer, text.view(), 8, 9), "stride 9 is outside 1 to block_size 8; 0 means no overlap");
  CHECK_THROWS_AS(split_loss(scorer, text.view(), 8, -1), Error);
  CHECK_THROWS_AS(sampled_loss(scorer, WindowCut(text.view(), 8), 0), Error);
  CHECK_THROWS_AS(sampled_loss(scorer, WindowCut(text.view().slice(0, 0), 8), 1), Error);
}

TEST_CASE("a sampled loss is the mean over evenly spaced windows, also of places that do not divide by them") {
  for (const auto& [n, begins] : {std::pair{29, Ids{0, 5, 10, 15}}, {31, {0, 5, 11, 17}}}) {
    INFO(n - 8 << " places for a window of 8");
    const Text text(n);
    FakeScorer scorer;
    double sum = 0;
    for (const std::int64_t begin : begins)
      for (std::int64_t i = begin; i < begin + 8; ++i) sum += text.loss(begin, i);
    CHECK(sampled_loss(scorer, WindowCut(text.view(), 8), 4) == Approx(sum / 32));
  }
}

TEST_CASE("a sampled loss of more windows than there are places takes each place once") {
  const Text text(12);
  FakeScorer scorer;
  const double all = sampled_loss(scorer, WindowCut(text.view(), 8), 4);
  CHECK(sampled_loss(scorer, WindowCut(text.view(), 8), 6) == Approx(all));
  CHECK(sampled_loss(scorer, WindowCut(text.view(), 8), 1'000'000'000) == Approx(all));
  CHECK(sampled_loss(scorer, WindowCut(text.view(), 50), 3) == Approx(split_loss(scorer, text.view(), 50).mean));
}

TEST_CASE("windows drawn from a text of documents stand for all of it, and hold documents whole") {
  class Lengths : public WindowScorer {  // 1 for a target in a short document, 0 in a long one
    void score(const WindowBatch& windows, std::span<float> losses) override {
      Ids x(losses.size()), y(losses.size());
      windows.copy_inputs(x.data());
      windows.copy_targets(y.data());
      for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = y[i] == 1 ? 1 : 0;
      whole = whole && std::ranges::all_of(windows.starts, [&](std::int64_t start) {
                const std::int64_t last = start + counted_targets(windows.tokens, start, windows.T);
                return windows.tokens[start] == 0 || windows.tokens[start + 1] == 2 || windows.tokens[last] == 0;
              });
    }

   public:
    bool whole = true;
  } scorer;
  std::vector<std::uint8_t> ids = {0};  // between documents, which are 1 to 9 times 1, and 300 times 2
  RandomStream random(7, Purpose::windows);
  while (ids.size() < 600'000) {
    const bool is_long = random.below(60) == 0;
    ids.insert(ids.end(), is_long ? 300 : 1 + random.below(9), is_long ? 2 : 1);
    ids.push_back(0);
  }
  const TokenView view = view_of(ids, 0);
  const double all = split_loss(scorer, view, 16).mean;
  CHECK(all > 0.3);
  CHECK(sampled_loss(scorer, WindowCut(view, 16), 2'000) == Approx(all).margin(0.03));
  CHECK(sampled_loss(scorer, WindowCut(view, 16), 1'000'000) == Approx(all).margin(1e-3));
  CHECK(scorer.whole);
}

TEST_CASE("of documents every window as long as the first can be drawn, and no shorter one") {
  class Starts : public WindowScorer {
   public:
    void score(const WindowBatch& windows, std::span<float> losses) override {
      starts.insert(starts.end(), windows.starts.begin(), windows.starts.end());
      std::ranges::fill(losses, 1.0F);
    }
    Ids starts;
  };
  const auto drawn = [](const std::vector<std::uint8_t>& ids) {  // 0 is between documents
    Starts scorer;
    sampled_loss(scorer, WindowCut(view_of(ids, 0), 4), 9);
    return scorer.starts;
  };
  CHECK(drawn({0, 1, 1, 1, 0, 1, 0}) == Ids{0});
  CHECK(drawn({0, 1, 1, 1, 0, 1, 1, 1, 0}) == Ids{0, 4});
}

TEST_CASE("a loss tells how far it is after each batch, and ends where that throws") {
  const Text text(20'001);
  FakeScorer scorer;
  std::vector<double> parts;
  split_loss(scorer, text.view(), 64, 0, [&](double part) { parts.push_back(part); });
  CHECK(parts.size() == scorer.shapes.size());
  CHECK(std::is_sorted(parts.begin(), parts.end()));
  CHECK(parts.back() == 1);
  parts.clear();
  sampled_loss(scorer, WindowCut(text.view(), 64), 200, [&](double part) { parts.push_back(part); });
  CHECK(parts.size() == 4);
  CHECK(parts.back() == 1);
  const auto call_off = [](double part) {
    if (part > 0.3) throw Interrupted{};
  };
  scorer.shapes.clear();
  CHECK_THROWS_AS(split_loss(scorer, text.view(), 64, 0, call_off), Interrupted);
  CHECK(scorer.shapes.size() == 2);
}

TEST_CASE("a loss that is not a number stays visible in the mean") {
  class Broken : public FakeScorer {
    void score(const WindowBatch&, std::span<float> losses) override {
      std::ranges::fill(losses, std::numeric_limits<float>::quiet_NaN());
    }
  } scorer;
  CHECK(std::isnan(split_loss(scorer, Text(20).view(), 8).mean));
}

}  // namespace chargpt
