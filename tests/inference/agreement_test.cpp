// What the scorer and the decoder say of the same model, over all options and model types: they share kernels and plan,
// and nothing else. Without LibTorch, so that sanitizers see both; tests/engine compares them with its modules.
#include <array>
#include <cmath>
#include <vector>

#include "inference/decoder.h"
#include "inference/drawn_weights.h"
#include "inference/scorer.h"
#include "inference/variants.h"

#include "test.h"

using namespace chargpt;

namespace {

double loss_of(const float* logits, std::int64_t vocab_size, std::int64_t target) {
  double sum = 0;
  for (std::int64_t i = 0; i < vocab_size; ++i) sum += std::exp(static_cast<double>(logits[i]));
  return std::log(sum) - static_cast<double>(logits[target]);
}

}  // namespace

TEST_CASE("the loss of a window's last position is that of the decoder's logits") {
  int compared = 0;
  for (const Variant& variant : all_variants()) {
    if (leaks(variant.config)) continue;  // what a position sees depends on how long the window is
    INFO(variant.name);
    DrawnWeights weights;
    const InferenceModel model(variant.config, test_vocab, std::ref(weights));
    Scorer scorer(model, 2);
    cpu::Decoder decoder(model.plan(), model.values(), cpu::kernels(), 2);
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i <= model.block_size(); ++i) ids.push_back((i * i * 7 + 3 * i + 2) % test_vocab);
    const std::vector<std::uint8_t> text(ids.begin(), ids.end());
    const std::array<std::int64_t, 1> start{0};
    const float* logits = nullptr;
    for (std::int64_t T = 1; T <= model.block_size(); ++T) {
      const std::span<const std::int64_t> all = ids;
      const auto count = static_cast<std::size_t>(T);
      std::vector<float> losses(count);
      scorer.score({.tokens = TokenView(text.data(), 1, std::ssize(text)), .starts = start, .T = T}, losses);
      logits =
          T == 1 ? decoder.start(all.first(1), 1) : decoder.append(all.subspan(count - 1, 1), model.block_size() - 1);
      CHECK(losses.back() == Approx(loss_of(logits, test_vocab, ids[count])).margin(2e-4));
    }
    ++compared;
  }
  CHECK(compared > 90);
}

TEST_CASE("the decoder's logits have the same bits on a team of any size, whichever way the team shares the work") {
  ModelConfig config = small_config();
  config.n_embd = 96;  // enough for three threads to share a token's columns
  config.n_head = 3;
  config.block_size = 40;  // and a window's positions
  DrawnWeights weights;
  const InferenceModel model(config, test_vocab, std::ref(weights));
  const auto all_logits = [&](int threads) {
    cpu::Decoder decoder(model.plan(), model.values(), cpu::kernels(), threads);
    std::vector<float> all;
    const auto note = [&](const float* logits) { all.insert(all.end(), logits, logits + test_vocab); };
    std::vector<std::int64_t> ids(36);
    for (int round = 0; round < 20; ++round) {  // so often that each way of sharing has its turn
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(7 * i * i + 3 * i) % test_vocab;
      note(decoder.start(ids, 1));
      for (std::int64_t id = 0; id < 3; ++id) note(decoder.append(std::array{id}, config.block_size - 1));
    }
    return all;
  };
  const std::vector<float> alone = all_logits(1);
  for (const int threads : {2, 3, 8}) {
    INFO(threads << " threads");
    CHECK(all_logits(threads) == alone);
  }
}
