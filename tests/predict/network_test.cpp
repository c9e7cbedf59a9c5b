// What a network says of windows and of sequences that grow, over all options and model types: they share kernels and
// plan, and nothing else. Without LibTorch, so that sanitizers see both; tests/engine compares them with its modules.
#include "predict/network.h"

#include <array>

#include "base/error.h"
#include "network/drawn_model.h"
#include "token_text.h"

namespace chargpt {
namespace {

double loss_of(const float* logits, std::int64_t target) {
  double sum = 0;
  for (std::int64_t i = 0; i < test_vocab; ++i) sum += std::exp(static_cast<double>(logits[i]));
  return std::log(sum) - static_cast<double>(logits[target]);
}

}  // namespace

TEST_CASE("the loss of each position of a window is that of its logits, and the last one's of a sequence that grew") {
  REQUIRE(all_variants().size() > 90);
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    const DrawnModel drawn(variant.config);
    NetworkPredictor network(drawn.model, 2);
    Ids ids;
    for (std::int64_t i = 0; i <= variant.config.block_size; ++i) ids.push_back((i * i * 7 + 3 * i + 2) % test_vocab);
    const std::vector<std::uint8_t> text(ids.begin(), ids.end());
    const std::array<std::int64_t, 1> start{0};
    Predictor::Rows rows{};
    for (std::int64_t T = 1; T <= variant.config.block_size; ++T) {
      const auto count = static_cast<std::size_t>(T);
      const WindowBatch window{.tokens = view_of(text), .starts = start, .T = T};
      Floats losses(count), logits(count * test_vocab);
      network.score(window, losses);
      network.logits(window, logits);
      for (std::size_t t = 0; t < count; ++t)
        CHECK(losses[t] == Approx(loss_of(logits.data() + t * test_vocab, ids[t + 1])).margin(1e-5));
      if (leaks(variant.config)) continue;  // what a position sees depends on how long the window is
      rows = T == 1 ? network.start(std::span(ids).first(1), 1)
                    : network.advance(std::array<std::int64_t, 1>{0}, std::span(ids).subspan(count - 1, 1));
      CHECK(losses.back() == Approx(loss_of(rows.first, ids[count])).margin(2e-4));
    }
  }
}

TEST_CASE("a network says the same to the bit with any number of threads") {
  const DrawnModel drawn({.n_layer = 2, .n_head = 3, .n_embd = 96, .block_size = 40});
  std::vector<std::uint8_t> text(400);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::uint8_t>((7 * i * i + 3 * i) % test_vocab);
  const Ids starts = {0, 5, 300, 41, 7}, prompt(text.begin(), text.begin() + 36);
  const auto all_logits = [&](int threads) {
    NetworkPredictor network(drawn.model, threads);
    Floats all(starts.size() * 40 * test_vocab);
    network.logits({.tokens = view_of(text), .starts = starts, .T = 40}, all);
    Predictor::Rows rows = network.start(prompt, 5);
    for (std::int64_t token = 0; token < 6; ++token) {
      for (std::int64_t i = 0; i < 5; ++i)
        all.insert(all.end(), rows.first + i * rows.stride, rows.first + i * rows.stride + test_vocab);
      rows = network.advance(Ids{0, 1, 2, 3, 4}, Ids{1, token, 3, 2, 2 * token});
    }
    return all;
  };
  const Floats alone = all_logits(1);
  for (const int threads : {2, 3, 8}) {
    INFO(threads << " threads");
    CHECK(all_logits(threads) == alone);
  }
}

TEST_CASE("threads that divide the heads and products of one sequence say the same to the bit") {
  const std::vector<ModelConfig> configs = {
      {.n_layer = 2, .n_head = 5, .n_embd = 320, .block_size = 12, .bias = true, .conv_places = {Place::mlp}},
      {.n_layer = 12, .n_head = 2, .n_embd = 32, .block_size = 12},  // divides the heads only
      {.n_layer = 3,
       .n_head = 3,
       .n_embd = 96,
       .block_size = 150,
       .position = Position::rope,
       .conv_places = {Place::attention, Place::mlp}}};
  for (const ModelConfig& config : configs) {
    INFO(config.n_embd << " wide");
    const DrawnModel drawn(config);
    const auto logits_past_the_window = [&](int threads) {
      NetworkPredictor network(drawn.model, threads);
      Floats all;
      Ids prompt(static_cast<std::size_t>(config.block_size - 2));
      for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int64_t>(i * i % test_vocab);
      Predictor::Rows rows = network.start(prompt, 1);
      for (std::int64_t token = 0; token < 80; ++token) {  // from the 64th on by the threads together
        all.insert(all.end(), rows.first, rows.first + test_vocab);
        rows = network.advance(Ids{0}, Ids{token % test_vocab});
      }
      return all;
    };
    const Floats alone = logits_past_the_window(1);
    CHECK(logits_past_the_window(2) == alone);  // two threads together
    CHECK(logits_past_the_window(7) == alone);  // three
  }
}

TEST_CASE("a context slides where positions are told apart by distance, and that is said where they are not") {
  for (const Position position : {Position::learned, Position::sinusoidal, Position::rope, Position::none}) {
    ModelConfig config = small_config();
    config.position = position;
    const bool slides = position == Position::rope || position == Position::none;
    CHECK(context_of(config, Context::automatic) == (slides ? Context::slide : Context::full));
    CHECK(context_of(config, Context::half) == Context::half);
    if (slides)
      CHECK(context_of(config, Context::slide) == Context::slide);
    else
      CHECK_THROWS_AS(context_of(config, Context::slide), Error);
    config.block_size = 32;
    CHECK(context_of(config, Context::automatic) == (slides ? Context::slide : Context::half));
  }
}

TEST_CASE("keys and values of all sequences at once take 256 MB at most, but every thread has a sequence") {
  ModelConfig config = small_config();
  config.n_embd = config.block_size = 64;
  CHECK(NetworkPredictor(DrawnModel(config).model, 2).at_once() == 2 * 56);  // 3.5 MiB of 64 KiB for each thread
  config.n_embd = 512;  // 25 MB of weights, which come from memory: four times as much for each thread's sequences
  const DrawnModel wide(config);
  constexpr double bytes = 2 * 2 * 64 * 512 * sizeof(float);  // of a sequence: keys and values of two layers
  CHECK(static_cast<double>(NetworkPredictor(wide.model, 8).at_once()) * bytes == 256 << 20);
  config = small_config();
  config.position = Position::none;
  config.block_size = 2'000'000;  // 768 MB
  const DrawnModel lengthy(config);
  CHECK(NetworkPredictor(lengthy.model, 3).at_once() == 3);
}

TEST_CASE("half of an odd context is rounded down") {
  CHECK(kept_tokens(Context::half, 9) == 4);
  CHECK(kept_tokens(Context::full, 9) == 8);
  CHECK(kept_tokens(Context::slide, 9) == 9);
}

}  // namespace chargpt
