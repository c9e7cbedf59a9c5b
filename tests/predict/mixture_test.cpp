// A network and counts together: that what they say is a distribution, made before the answer is looked at.
#include "predict/mixture.h"

#include <numeric>

#include "evaluate/split_loss.h"
#include "network/drawn_model.h"
#include "predict/counted.h"
#include "predict/formula_network.h"
#include "predict/generate.h"
#include "predict/network.h"
#include "test.h"

namespace chargpt {
namespace {

Floats losses_of(Predictor& predictor, const Stored& text, const Ids& starts, std::int64_t T) {
  Floats losses(starts.size() * static_cast<std::size_t>(T));
  predictor.score({.tokens = view_of(text), .starts = starts, .T = T}, losses);
  return losses;
}

/// Of all symbols but the first, each learned when it has been scored.
Floats adaptive_losses(Predictor& predictor, const Stored& text) {
  Floats losses(text.size() - 1);
  const WindowCut cut(view_of(text), predictor.block_size());
  for (std::int64_t i = 0; i < cut.count(); ++i)
    predictor.score_and_learn(view_of(text), cut[i],
                              std::span(losses).subspan(static_cast<std::size_t>(cut[i].begin + cut[i].from)));
  return losses;
}

/// A network mixed with counts that have learned a text of all its symbols.
struct Mixed {
  explicit Mixed(int threads = 1) : alone(network.model, threads) {}
  const DrawnModel network;
  NetworkPredictor alone;
  const Stored train = text_of(12'000, test_vocab);
  Mixture mixture{alone, 1, letters(test_vocab), view_of(train)};
};

/// A bigram of this width, without biases.
TestModel bigram(std::int64_t width, const Floats& embedding, const Floats& head) {
  const Floats zeros(head.size());
  const ModelConfig config{.type = "bigram", .n_embd = width, .block_size = 8};
  return TestModel(config, std::ssize(head) / width, [&](const std::string& name, const std::vector<std::int64_t>&) {
    return name == "wte.weight" ? embedding.data() : name == "lm_head.weight" ? head.data() : zeros.data();
  });
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
      const DrawnModel network(config, vocab_size);
      NetworkPredictor alone(network.model, 1);
      const Stored train = text_of(10'000, 9);  // symbols from 9 on are never seen
      Mixture mixture(alone, 1, letters(vocab_size), view_of(train));
      CHECK(mixture.learning().tokens > 0);
      Stored text = text_of(30, 13);
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

TEST_CASE_METHOD(DrawnModel, "with a poor network learned weights beat halves, alike on any number of threads") {
  const Stored train = text_of(40'000, test_vocab), whole = text_of(44'000, test_vocab);
  const Stored text(whole.begin() + 40'000, whole.end());
  Ids starts(400);
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<std::int64_t>(8 * i);
  Floats one;
  for (const int threads : {1, 2, 3}) {
    NetworkPredictor alone(model, threads);
    Mixture mixture(alone, threads, letters(test_vocab), view_of(train)),
        halves(alone, threads, counts_of(letters(test_vocab), train), MixtureWeights{});
    CHECK(mixture.learning().tokens == 1999);  // the last window is short
    CHECK(mixture.learning().counted == 40'000);
    const Floats losses = losses_of(mixture, text, starts, 8);
    if (threads == 1) {
      one = losses;
      CHECK(mean_of(losses) < mean_of(losses_of(alone, text, starts, 8)) - 0.5);
      CHECK(mean_of(losses) < mean_of(losses_of(halves, text, starts, 8)));
    }
    CHECK(losses == one);
  }
}

TEST_CASE_METHOD(DrawnModel, "weights are learned on the windows of eval, which no document leaves") {
  Stored train = text_of(20'000, test_vocab - 1);
  for (std::size_t i = 4; i < train.size(); i += 3 + train[i - 1]) train[i] = test_vocab - 1;
  const TokenView tokens{train.data(), 1, std::ssize(train), test_vocab - 1};
  for (const int threads : {1, 3}) {
    NetworkPredictor alone(model, threads);
    const Mixture mixture(alone, threads, letters(test_vocab - 1).with_documents(), tokens);
    const SplitLoss evaluated = split_loss(alone, tokens.slice(19'000, 1000), 8);
    CHECK(mixture.learning().tokens == std::ssize(evaluated.losses));
  }
}

TEST_CASE("a network that knows what the weights are learned on has half of them all the same") {
  const TestModel backwards = bigram(3, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 9, 0, 0, 0, 9, 9, 0, 0});
  Stored train(20'000);  // 0 1 2 0 1 2 …, and in the last twentieth backwards
  for (std::size_t i = 0; i < train.size(); ++i) train[i] = static_cast<std::uint8_t>((i < 19'000 ? i : 2 * i) % 3);
  NetworkPredictor network(backwards, 1);
  const Mixture mixture(network, 1, letters(3), view_of(train));
  CHECK(split_loss(network, view_of(train).slice(19'000, 1000), 8).mean < 0.01);
  CHECK(mixture.weights().network == 0.5);
  CHECK(mixture.weights().counts == 0.5);
}

TEST_CASE("a network that is sure of a symbol among many stays sure of it") {
  constexpr std::int64_t symbols = 60'000;
  Floats head(symbols);
  head[7] = 50;
  const TestModel sure = bigram(1, Floats(symbols, 1), head);
  NetworkPredictor network(sure, 1);
  Mixture mixture(network, 1, counts_of(letters(symbols), {}), MixtureWeights{.network = 1, .counts = 0});
  CHECK(losses_of(mixture, {0, 7}, {0}, 1)[0] < 0.012);
}

TEST_CASE("sequences that grow are given what windows are") {
  Mixed mixed(2);
  Mixture& mixture = mixed.mixture;
  const Stored text = text_of(20, test_vocab);
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

TEST_CASE("a symbol that never came is scored with the probability that it is drawn with") {
  constexpr std::size_t symbols = 12, came = 3;
  FormulaNetwork network(symbols, 16);
  Mixture mixture(network, 1, counts_of(letters(symbols), text_of(3000, came)), {0, 1});
  Stored text = {1, 0, 2, 0};
  Floats logits(3 * symbols);
  mixture.logits({.tokens = view_of(text), .starts = Ids{0}, .T = 3}, logits);
  const std::span row = std::span(logits).last(symbols);
  double total = 0, never_came = 0;
  for (const float logit : row) total += std::exp(double{logit});
  for (std::size_t id = 0; id < row.size(); ++id) {
    text[3] = static_cast<std::uint8_t>(id);
    const double loss = losses_of(mixture, text, {0}, 3).back();
    CHECK(loss == Approx(std::log(total) - double{row[id]}).margin(1e-4));
    if (id >= came) never_came += std::exp(-loss);
  }
  CHECK(never_came < 1e-3);  // all of them together: from here on the network alone tells them apart
}

TEST_CASE_METHOD(DrawnModel, "a text too short to learn from is counted all the same") {
  NetworkPredictor alone(model, 1);
  for (const std::size_t length : {0, 1, 2, 100, 9'999}) {
    const Stored train = text_of(9'999, test_vocab), text = text_of(30, test_vocab);
    Mixture mixture(alone, 1, letters(test_vocab), view_of(train).slice(0, static_cast<std::int64_t>(length)));
    CHECK(mixture.learning().tokens == 0);
    CHECK(mixture.learning().counted == static_cast<std::int64_t>(length));
    for (const float loss : losses_of(mixture, text, {0, 9, 20}, 8)) CHECK(std::isfinite(loss));
  }
}

// ---- adaptive

TEST_CASE("a network whose logits are no numbers has losses that are none") {
  class NoNumbers : public FormulaNetwork {
   public:
    using FormulaNetwork::FormulaNetwork;
    void logits(const WindowBatch&, std::span<float> logits) override {
      std::ranges::fill(logits, std::numeric_limits<float>::quiet_NaN());
    }
  };
  NoNumbers network(9, 16);
  const Stored text = text_of(40, 9), train = text_of(20'000, 9);
  Mixture mixture(network, 1, letters(9), view_of(train));
  for (const float loss : losses_of(mixture, text, {0, 16}, 16)) CHECK(std::isnan(loss));
  for (const float loss : adaptive_losses(mixture, text)) CHECK(std::isnan(loss));
}

}  // namespace chargpt
