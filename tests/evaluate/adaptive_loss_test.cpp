// The walk of a predictor that learns: which windows it is shown, in which order, and where their losses go.

#include "base/error.h"
#include "evaluate/split_loss.h"
#include "token_text.h"

namespace chargpt {
namespace {

/// Its losses tell which target they are of, and how many windows it had learned from before.
class Recorder : public Predictor {
 public:
  std::int64_t vocab_size() const override { return 50; }
  std::int64_t block_size() const override { return 8; }
  Rows start(std::span<const std::int64_t>, std::int64_t) override { return {}; }
  Rows advance(std::span<const std::int64_t>, std::span<const std::int64_t>) override { return {}; }
  std::int64_t at_once() const override { return 1; }
  void logits(const WindowBatch&, std::span<float>) override {}
  void score(const WindowBatch& windows, std::span<float> losses) override {
    for (std::int64_t t = 0; t < windows.T; ++t)
      losses[static_cast<std::size_t>(t)] = loss(windows.starts[0] + t, std::ssize(learned));
  }
  void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) override {
    Predictor::score_and_learn(tokens, window, losses);
    learned.push_back(window);
  }

  static float loss(std::int64_t target, std::int64_t windows_before) {
    return static_cast<float>(target + 1000 * windows_before);
  }
  std::vector<WindowCut::Window> learned;
};

TEST_CASE("an adaptive loss scores each token once, before anything learns from it") {
  const std::vector<std::uint16_t> ids(20, 1);  // 19 targets: windows from 0, 4, 8 and 12, the last one short
  Recorder recorder;
  const SplitLoss loss = adaptive_loss(recorder, view_of(ids), 8, 0);
  REQUIRE(std::ssize(loss.losses) == 19);
  for (std::int64_t target = 0; target < 19; ++target) {
    const std::int64_t window = target < 8 ? 0 : (target - 4) / 4;
    CHECK(loss.losses[static_cast<std::size_t>(target)] == Recorder::loss(target, window));
  }
  REQUIRE(recorder.learned.size() == 4);
  CHECK(recorder.learned[1].from == 4);
  CHECK(recorder.learned[3].to == 7);
  Recorder every_two;
  adaptive_loss(every_two, view_of(ids), 8, 2);
  CHECK(every_two.learned.size() == 7);
}

TEST_CASE("an adaptive loss learns from the targets of whole documents") {
  const std::vector<std::uint16_t> ids = {9, 1, 1, 9, 2, 2, 2, 9, 3, 3, 3, 3, 3, 9};  // 9 ends a document
  Recorder recorder;
  const SplitLoss loss = adaptive_loss(recorder, view_of(ids, 9), 8, 0);
  REQUIRE(std::ssize(loss.losses) == 13);
  REQUIRE(recorder.learned.size() == 2);
  CHECK(recorder.learned[0].to == 7);  // the two first documents; the third is the next window's
  CHECK(recorder.learned[1].begin == 7);
  CHECK(loss.losses[7] == Recorder::loss(7, 1));
}

}  // namespace
}  // namespace chargpt
