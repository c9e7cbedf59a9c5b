// Sampling, with logits that are an exact function of the whole window, so that any slip of position or batch shows;
// and by a network. Without LibTorch: tests/engine compares what a network decodes with its modules.
#include "predict/generate.h"

#include "failure.h"
#include "network/drawn_model.h"
#include "predict/network.h"

namespace chargpt {
namespace {

using Texts = std::map<std::int64_t, Ids>;

/// Logits of a function of the last block_size ids.
class WindowLogits : public Predictor {
 public:
  WindowLogits(std::int64_t block_size, std::int64_t vocab_size) : block_size_(block_size), vocab_size_(vocab_size) {}

  std::int64_t vocab_size() const override { return vocab_size_; }
  std::int64_t block_size() const override { return block_size_; }
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override {
    const auto seen = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(ids), block_size_));
    windows_.assign(static_cast<std::size_t>(sequences), Ids(ids.end() - static_cast<std::ptrdiff_t>(seen), ids.end()));
    return rows();
  }
  Rows advance(std::span<const std::int64_t> rows_kept, std::span<const std::int64_t> ids) override {
    std::vector<Ids> grown;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Ids window = windows_[static_cast<std::size_t>(rows_kept[i])];
      if (std::ssize(window) == block_size_) window.erase(window.begin());
      window.push_back(ids[i]);
      grown.push_back(std::move(window));
    }
    windows_ = std::move(grown);
    return rows();
  }
  std::int64_t at_once() const override { return most_at_once; }
  void logits(const WindowBatch&, std::span<float>) override { FAIL("nothing is scored here"); }
  void score(const WindowBatch&, std::span<float>) override { FAIL("nothing is scored here"); }

  std::int64_t most_at_once = 1000;
  std::vector<std::int64_t> batch_sizes;

 protected:
  virtual std::vector<float> logits_of(const Ids& window) const = 0;

 private:
  Rows rows() {
    batch_sizes.push_back(std::ssize(windows_));
    logits_.clear();
    for (const Ids& window : windows_)
      for (const float logit : logits_of(window)) logits_.push_back(logit);
    return {logits_.data(), vocab_size_};
  }
  std::int64_t block_size_, vocab_size_;
  std::vector<Ids> windows_;
  std::vector<float> logits_;
};

/// 3 sin(3.7 h v) for symbol v - 1, where h hashes every id with its position, all in whole numbers.
class HashLogits : public WindowLogits {
 public:
  using WindowLogits::WindowLogits;
  std::vector<float> logits_of(const Ids& window) const override {
    std::int64_t hash = 0;
    for (std::size_t i = 0; i < window.size(); ++i)
      hash = (hash + (window[i] + 1) * (2 * static_cast<std::int64_t>(i) + 1)) % 101;
    std::vector<float> logits;
    for (std::int64_t v = 1; v <= vocab_size(); ++v)
      logits.push_back(static_cast<float>(3 * std::sin(3.7 * static_cast<double>(hash * v))));
    return logits;
  }
};

Texts generated(Predictor& logits, const Ids& prompt, const SampleConfig& sample, std::uint64_t seed = 1337,
                std::int64_t first_sample = 0) {
  Texts texts;
  generate(
      logits, prompt, sample, seed,
      [&](std::int64_t index, std::int64_t id) { return texts[index].push_back(id), true; }, first_sample);
  return texts;
}

}  // namespace

TEST_CASE("greedy sampling takes the most probable id of each window, also past block_size") {
  for (const std::int64_t prompt_length : {1, 3, 8, 11}) {
    HashLogits logits(8, 13);
    Ids prompt;
    for (std::int64_t i = 0; i < prompt_length; ++i) prompt.push_back((5 * i + 2) % 13);
    Ids text = prompt;
    for (int i = 0; i < 30; ++i) {
      const std::vector<float> next =
          logits.logits_of(Ids(text.end() - std::min<std::ptrdiff_t>(8, std::ssize(text)), text.end()));
      text.push_back(std::ranges::max_element(next) - next.begin());
    }
    CHECK(generated(logits, prompt, {.tokens = 30, .temperature = 0})[0] == Ids(text.end() - 30, text.end()));
  }
}

TEST_CASE("a network writes what its logits of each window say, alone and among others, on any number of threads") {
  for (const Position position : {Position::learned, Position::rope}) {
    ModelConfig config = small_config();
    config.position = position;
    const DrawnModel drawn(config);
    for (const auto& [prompt, context] :
         {std::pair{Ids{1, 2, 3}, Context::full},
          {Ids{1, 2, 3}, Context::half},
          {Ids{9, 9, 4, 1, 0, 7, 5, 1, 2, 3}, Context::full}}) {  // longer than a window
      NetworkPredictor by_hand(drawn.model, 1, context), network(drawn.model, 3, context),
          alone(drawn.model, 1, context);
      Ids window(prompt.end() - std::min<std::ptrdiff_t>(8, std::ssize(prompt)), prompt.end()), written;
      for (int i = 0; i < 25; ++i) {
        const float* const logits = by_hand.start(window, 1).first;
        written.push_back(std::max_element(logits, logits + test_vocab) - logits);
        if (std::ssize(window) == 8) window.erase(window.begin(), window.end() - kept_tokens(context, 8));
        window.push_back(written.back());
      }
      CHECK(generated(network, prompt, {.tokens = 25, .temperature = 0}) == Texts{{0, written}});
      const Texts three = generated(network, prompt, {.tokens = 25, .num_samples = 3, .temperature = 1});
      CHECK(three.at(0) == generated(alone, prompt, {.tokens = 25, .temperature = 1}).at(0));
    }
  }
}

TEST_CASE("sample i is the same however many samples are drawn, and from whichever on") {
  HashLogits model(6, 7);
  SampleConfig sample{.tokens = 20, .num_samples = 4, .temperature = 1};
  const Texts four = generated(model, {2}, sample);
  sample.num_samples = 2;
  const Texts two = generated(model, {2}, sample);
  sample.num_samples = 1;
  CHECK(generated(model, {2}, sample).at(0) == four.at(0));
  CHECK(two.at(0) == four.at(0));
  CHECK(two.at(1) == four.at(1));
  CHECK(generated(model, {2}, sample, 1337, /*first_sample=*/3) == Texts{{3, four.at(3)}});
  CHECK(four.at(0) != four.at(1));
  CHECK(generated(model, {2}, sample, 1338).at(0) != four.at(0));
}

TEST_CASE("a sample that ends leaves the batch and the others go on unchanged") {
  HashLogits model(6, 7);
  const SampleConfig sample{.tokens = 12, .num_samples = 3, .temperature = 1};
  const Texts whole = generated(model, {1, 4}, sample);
  model.batch_sizes.clear();
  Texts texts;
  generate(model, {1, 4}, sample, 1337, [&](std::int64_t index, std::int64_t id) {
    texts[index].push_back(id);
    return index != 1 || texts[index].size() < 3;
  });
  CHECK(texts.at(0) == whole.at(0));
  CHECK(texts.at(1) == Ids(whole.at(1).begin(), whole.at(1).begin() + 3));
  CHECK(texts.at(2) == whole.at(2));
  CHECK(model.batch_sizes == Ids{3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2});
}

TEST_CASE("decoding ends when every sample has ended") {
  HashLogits model(6, 7);
  int calls = 0;
  generate(model, {1}, {.tokens = 1'000'000'000'000, .num_samples = 2, .temperature = 1}, 1,
           [&](std::int64_t, std::int64_t) { return ++calls < 9; });
  CHECK(calls == 10);
}

TEST_CASE("no tokens and no memory for all samples at once are no trouble") {
  HashLogits model(4, 5);
  CHECK(generated(model, {1}, {.tokens = 0}).empty());
  HashLogits large(200, 300), small(200, 300);
  small.most_at_once = 1;
  const Texts texts = generated(small, {1}, {.tokens = 2, .num_samples = 3, .temperature = 1});
  CHECK(texts.size() == 3);
  CHECK(small.batch_sizes == Ids{1, 1, 1, 1, 1, 1});
  CHECK(generated(large, {1}, {.tokens = 2, .num_samples = 3, .temperature = 1}) == texts);
}

TEST_CASE("an empty prompt and an unknown id are bugs of the caller") {
  HashLogits model(4, 5);
  CHECK_THROWS_WITH(generated(model, {}, {.tokens = 1}), "a prompt needs at least one id");
  CHECK_THROWS_WITH(generated(model, {4, 5}, {.tokens = 1}), "the prompt has id 5; the model has ids 0 to 4");
  CHECK_THROWS_WITH(generated(model, {-1}, {.tokens = 1}), "the prompt has id -1; the model has ids 0 to 4");
}

}  // namespace chargpt
