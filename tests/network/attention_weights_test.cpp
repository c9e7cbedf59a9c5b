// Attention weights of a window where they are known without a reference; tests/engine compares them with LibTorch's.
#include "network/walk.h"

#include <numeric>

#include "network/drawn_model.h"

#include "test.h"

using namespace chargpt;

namespace {

/// Weights of a model whose parameters are drawn.
AttentionWeights weights_of(const ModelConfig& config, const Ids& ids) {
  return attention_weights(DrawnModel(config).model, ids);
}

/// What every token gives to all that it sees, where it gives them alike.
Floats mean_of_earlier(std::size_t T) {
  Floats values(T * T);
  for (std::size_t i = 0; i < T; ++i)
    for (std::size_t j = 0; j <= i; ++j) values[i * T + j] = 1.0F / static_cast<float>(i + 1);
  return values;
}

void check_close(std::span<const float> values, const Floats& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(values[i] == Approx(expected[i]).margin(1e-6));
}

}  // namespace

TEST_CASE("an average weighs all that a token sees alike") {
  ModelConfig config = small_config("average");
  const AttentionWeights weights = weights_of(config, {1, 5, 2});
  CHECK(weights.layers == 1);
  CHECK(weights.heads == 1);
  check_close(weights.values, {1, 0, 0, 0.5F, 0.5F, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F});
  config.causal = false;
  check_close(weights_of(config, {1, 5, 2, 7}).values, Floats(16, 0.25F));
}

TEST_CASE("a masked model weighs tokens by their likeness") {
  // one-hot embeddings of length 2, no positions: a token scores 4 with itself and 0 with any other
  const ModelConfig config = small_config("masked");
  Floats embeddings(static_cast<std::size_t>(test_vocab * config.n_embd)), zeros(embeddings.size());
  for (std::int64_t id = 0; id < test_vocab; ++id) embeddings[static_cast<std::size_t>(id * config.n_embd + id)] = 2;
  const auto values = [&](const std::string& name, const std::vector<std::int64_t>&) {
    return name == "wte.weight" ? embeddings.data() : zeros.data();
  };
  const AttentionWeights weights = attention_weights(TestModel(config, test_vocab, values), Ids{3, 4, 3});
  const float e4 = std::exp(4.0F);
  check_close(weights.values,
              {1, 0, 0, 1 / (1 + e4), e4 / (1 + e4), 0, e4 / (1 + 2 * e4), 1 / (1 + 2 * e4), e4 / (1 + 2 * e4)});
}

TEST_CASE("a token that is repeated, in a model that knows no positions, is weighed alike everywhere") {
  ModelConfig config = small_config();
  config.position = Position::none;
  const AttentionWeights weights = weights_of(config, Ids(8, 6));
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer)
    for (std::int64_t head = 0; head < config.n_head; ++head)
      check_close(weights.of_head(layer, head), mean_of_earlier(8));
}

TEST_CASE("rows of weights sum to 1 over what is seen, over all options and model types") {
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    const ModelConfig& config = variant.config;
    for (const std::size_t T : {std::size_t{1}, std::size_t{3}, static_cast<std::size_t>(config.block_size)}) {
      Ids ids(T);
      std::iota(ids.begin(), ids.end(), 2);
      const AttentionWeights weights = weights_of(config, ids);
      const bool attends = config.type != "bigram", has_blocks = config.type == "gpt";
      CHECK(weights.layers == (has_blocks ? config.n_layer : attends ? 1 : 0));
      CHECK(weights.heads == (has_blocks || config.type == "attention" ? config.n_head : 1));
      CHECK(weights.T == static_cast<std::int64_t>(T));
      for (std::int64_t layer = 0; layer < weights.layers; ++layer)
        for (std::int64_t head = 0; head < weights.heads; ++head) {
          const std::span<const float> map = weights.of_head(layer, head);
          for (std::size_t i = 0; i < T; ++i) {
            const std::span<const float> row = map.subspan(i * T, T);
            CHECK(std::accumulate(row.begin(), row.end(), 0.0) == Approx(1).epsilon(1e-5));
            if (leaks(config)) continue;
            for (std::size_t j = i + 1; j < T; ++j) CHECK(row[j] == 0);
          }
          if (!leaks(config)) CHECK(map[0] == Approx(1).epsilon(1e-6));
        }
    }
  }
}

TEST_CASE("windows of no ids, of too many and of unknown ones have no weights") {
  const ModelConfig config = small_config();
  CHECK_THROWS_WITH(weights_of(config, {}), "a window of 0 ids; the model accepts 1 to 8");
  CHECK_THROWS_WITH(weights_of(config, Ids(9)), "a window of 9 ids; the model accepts 1 to 8");
  CHECK_THROWS_WITH(weights_of(config, {0, test_vocab}), "a window has id 13; the model has ids 0 to 12");
}
