// A network and counts together: that what they say is a distribution, made before the answer is looked at.
#include "predict/mixture.h"

#include <array>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "generate/generate.h"
#include "inference/drawn_weights.h"
#include "inference/variants.h"
#include "test.h"

namespace chargpt {
namespace {

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;

/// A text of `symbols` symbols in which the last two say much of the next.
std::vector<std::uint8_t> text_of(std::size_t length, std::uint64_t symbols) {
  RandomStream random(3, Purpose::windows);
  std::vector<std::uint8_t> ids = {0, 1};
  while (ids.size() < length) {
    const std::uint64_t expected =
        (ids.back() * std::uint64_t{5} + ids[ids.size() - 2] * std::uint64_t{3} + 1) % symbols;
    ids.push_back(static_cast<std::uint8_t>(random.uniform() < 0.7 ? expected : random.below(symbols)));
  }
  return ids;
}

TokenView view_of(const std::vector<std::uint8_t>& ids) {
  return {ids.data(), 1, std::ssize(ids)};
}

struct Network {
  explicit Network(const ModelConfig& config = small_config(), std::int64_t vocab_size = test_vocab)
      : model(config, vocab_size, std::ref(weights)) {}
  DrawnWeights weights;
  InferenceModel model;
};

Floats losses_of(Predictor& predictor, const std::vector<std::uint8_t>& text, const Ids& starts, std::int64_t T) {
  Floats losses(starts.size() * static_cast<std::size_t>(T));
  predictor.score({.tokens = view_of(text), .starts = starts, .T = T}, losses);
  return losses;
}

double mean_of(const Floats& losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

}  // namespace

TEST_CASE("the probabilities of all symbols sum to one, those never seen among them, for any block and vocabulary") {
  for (const std::int64_t block_size : {1, 2, 8})
    for (const std::int64_t vocab_size : {test_vocab, std::int64_t{256}}) {
      ModelConfig config = small_config();
      config.block_size = block_size;
      const Network network(config, vocab_size);
      NetworkPredictor alone(network.model, 1);
      const std::vector<std::uint8_t> train = text_of(12'000, 9);  // symbols from 9 on are never seen
      Mixture mixture(alone, view_of(train));
      CHECK(mixture.learning().tokens > 0);
      std::vector<std::uint8_t> text = text_of(30, 13);
      for (const std::int64_t place : {1, 2, 7, 29}) {
        double sum = 0;
        for (std::int64_t id = 0; id < vocab_size; ++id) {
          text[static_cast<std::size_t>(place)] = static_cast<std::uint8_t>(id);
          const std::int64_t T = std::min(block_size, place);
          sum += std::exp(-losses_of(mixture, text, {place - T}, T).back());
        }
        INFO("block " << block_size << ", " << vocab_size << " symbols, place " << place);
        CHECK(sum == Approx(1).margin(1e-5));
      }
    }
}

TEST_CASE("a later symbol changes no earlier probability") {
  const Network network;
  NetworkPredictor alone(network.model, 1);
  const std::vector<std::uint8_t> train = text_of(12'000, test_vocab), text = text_of(60, test_vocab);
  Mixture mixture(alone, view_of(train));
  const Ids starts = {0, 8, 16, 40};
  const Floats before = losses_of(mixture, text, starts, 8);
  for (const std::size_t changed : {3, 20, 47}) {
    std::vector<std::uint8_t> other = text;
    for (std::size_t i = changed; i < other.size(); ++i)
      other[i] = static_cast<std::uint8_t>((other[i] + 1) % test_vocab);
    const Floats after = losses_of(mixture, other, starts, 8);
    for (std::size_t i = 0; i < before.size(); ++i)
      if (starts[i / 8] + static_cast<std::int64_t>(i % 8) + 1 < static_cast<std::int64_t>(changed))
        CHECK(after[i] == before[i]);
    CHECK(after != before);
  }
}

TEST_CASE("the counts see the text before a window, and the network does not") {
  const Network network;
  NetworkPredictor alone(network.model, 1);
  const std::vector<std::uint8_t> train = text_of(12'000, test_vocab);
  Mixture mixture(alone, view_of(train));
  std::vector<std::uint8_t> text = text_of(20, test_vocab);
  const Floats by_network = losses_of(alone, text, {6}, 8), by_both = losses_of(mixture, text, {6}, 8);
  text[5] = static_cast<std::uint8_t>((text[5] + 1) % test_vocab);
  CHECK(losses_of(alone, text, {6}, 8) == by_network);
  const Floats with_another_before = losses_of(mixture, text, {6}, 8);
  CHECK(with_another_before.front() != by_both.front());
  CHECK(with_another_before.back() == by_both.back());  // five symbols later it is forgotten
}

TEST_CASE("with all weight on the network the mixture is the network") {
  const Network network;
  NetworkPredictor alone(network.model, 2);
  const std::vector<std::uint8_t> train = text_of(3000, test_vocab), text = text_of(200, test_vocab);
  Mixture mixture(alone, Counts({view_of(train)}, test_vocab), MixtureWeights{1, 0});
  Ids starts(20);
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<std::int64_t>(9 * i);
  const Floats expected = losses_of(alone, text, starts, 8), found = losses_of(mixture, text, starts, 8);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-5));
}

TEST_CASE("weights that were learned lower the loss of both, with the same bits on any number of threads") {
  const Network network;
  const std::vector<std::uint8_t> train = text_of(40'000, test_vocab), whole = text_of(44'000, test_vocab);
  const std::vector<std::uint8_t> text(whole.begin() + 40'000, whole.end());
  Ids starts(400);
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<std::int64_t>(8 * i);
  Floats one;
  for (const int threads : {1, 2, 3}) {
    NetworkPredictor alone(network.model, threads);
    Mixture mixture(alone, view_of(train)),
        only_counts(alone, Counts({view_of(train)}, test_vocab), MixtureWeights{0, 1});
    CHECK(mixture.learning().tokens == 1992);  // whole windows
    CHECK(mixture.learning().counted == 40'000);
    CHECK(mixture.learning().mixture_loss < mixture.learning().network_loss - 0.5);
    const Floats losses = losses_of(mixture, text, starts, 8);
    if (threads == 1) {
      one = losses;
      CHECK(mixture.learning().mixture_loss == Approx(mean_of(losses)).margin(0.1));
      CHECK(mean_of(losses) < mean_of(losses_of(alone, text, starts, 8)) - 0.5);
      CHECK(mean_of(losses) < mean_of(losses_of(only_counts, text, starts, 8)));
    }
    CHECK(losses == one);
  }
}

TEST_CASE("a network that knows what the weights are learned on has half of them all the same") {
  ModelConfig config;
  config.type = "bigram";
  config.n_embd = 3;
  config.block_size = 8;
  const Floats identity{1, 0, 0, 0, 1, 0, 0, 0, 1}, two_on{0, 9, 0, 0, 0, 9, 9, 0, 0}, zeros(3);
  const InferenceModel backwards(config, 3, [&](const std::string& name, const std::vector<std::int64_t>&) {
    return name == "wte.weight" ? identity.data() : name == "lm_head.weight" ? two_on.data() : zeros.data();
  });
  std::vector<std::uint8_t> train(20'000);  // 0 1 2 0 1 2 …, and in the last twentieth backwards
  for (std::size_t i = 0; i < train.size(); ++i) train[i] = static_cast<std::uint8_t>((i < 19'000 ? i : 2 * i) % 3);
  NetworkPredictor network(backwards, 1);
  const Mixture mixture(network, view_of(train));
  CHECK(mixture.learning().network_loss < 0.01);
  CHECK(mixture.weights().network == 0.5);
  CHECK(mixture.weights().counts == 0.5);
}

TEST_CASE("sequences that grow are given what windows are") {
  const Network network;
  NetworkPredictor alone(network.model, 2);
  const std::vector<std::uint8_t> train = text_of(12'000, test_vocab), text = text_of(20, test_vocab);
  Mixture mixture(alone, view_of(train));
  const Ids ids(text.begin(), text.end());
  const std::int64_t V = test_vocab;
  Predictor::Rows rows = mixture.start(std::span(ids).first(3), 4);
  const auto check_row = [&](std::int64_t row, std::size_t length) {
    Floats expected(static_cast<std::size_t>(V) * length);
    mixture.logits({.tokens = view_of(text), .starts = Ids{0}, .T = static_cast<std::int64_t>(length)}, expected);
    const float* const found = rows.first + row * rows.stride;
    const float shift = found[0] - expected[expected.size() - static_cast<std::size_t>(V)];
    for (std::int64_t v = 0; v < V; ++v)
      CHECK(found[v] - shift == Approx(expected[expected.size() - static_cast<std::size_t>(V - v)]).margin(1e-4));
  };
  check_row(3, 3);
  // Row 1 goes its own way, row 0 ends, the others follow the text.
  rows = mixture.advance(Ids{0, 1, 2, 3}, Ids{ids[3], 7, ids[3], ids[3]});
  rows = mixture.advance(Ids{1, 2, 3}, Ids{7, ids[4], ids[4]});
  rows = mixture.advance(Ids{0, 2}, Ids{7, ids[5]});
  check_row(1, 6);
}

TEST_CASE("symbols are drawn as often as the mixture says") {
  const Network network;
  NetworkPredictor alone(network.model, 1);
  const std::vector<std::uint8_t> train = text_of(12'000, test_vocab);
  Mixture mixture(alone, view_of(train));
  const Ids prompt = {1, 5, 2};
  constexpr std::int64_t draws = 20'000;
  const std::vector<std::uint8_t> text = {1, 5, 2, 0};
  Floats logits(3 * test_vocab);
  mixture.logits({.tokens = view_of(text), .starts = Ids{0}, .T = 3}, logits);
  const std::span row = std::span(logits).last(test_vocab);
  double total = 0;
  for (const float logit : row) total += std::exp(logit);
  std::vector<double> counted(test_vocab, 0.0);
  generate(mixture, prompt, {.tokens = 1, .num_samples = draws, .temperature = 1, .top_k = 0}, 1337,
           [&](std::int64_t, std::int64_t id) { return ++counted[static_cast<std::size_t>(id)], true; });
  double chi_square = 0;
  for (std::size_t v = 0; v < counted.size(); ++v) {
    const double expected = draws * std::exp(row[v]) / total;
    chi_square += (counted[v] - expected) * (counted[v] - expected) / expected;
  }
  CHECK(chi_square < 32.9);  // 12 degrees of freedom: one in a thousand is larger
}

TEST_CASE("a text too short to learn from is counted all the same") {
  const Network network;
  NetworkPredictor alone(network.model, 1);
  for (const std::size_t length : {0, 1, 2, 100, 5000}) {
    const std::vector<std::uint8_t> train = text_of(5000, test_vocab), text = text_of(30, test_vocab);
    Mixture mixture(alone, view_of(train).slice(0, static_cast<std::int64_t>(length)));
    CHECK(mixture.learning().tokens == 0);
    CHECK(mixture.learning().counted == static_cast<std::int64_t>(length));
    for (const float loss : losses_of(mixture, text, {0, 9, 20}, 8)) CHECK(std::isfinite(loss));
  }
}

}  // namespace chargpt
