// A network that learns from what it has scored: against scripts/reference/adaptation.py, and that nothing is learned
// before it is predicted.
#include "predict/adaptive_network.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "golden_weights.h"
#include "network/drawn_model.h"
#include "token_text.h"

namespace chargpt {
namespace {

using Text = std::vector<std::uint8_t>;

Text text_of(std::size_t length, std::uint32_t symbols = test_vocab) {
  Text ids;
  for (std::uint32_t i = 0; i < length; ++i) ids.push_back(static_cast<std::uint8_t>(mix(i) % symbols));
  return ids;
}

/// Losses of a text in windows of 8 that begin every `stride`.
Floats losses_of(Predictor& predictor, const TokenView& text, std::int64_t stride) {
  const WindowCut cut(text, predictor.block_size(), stride);
  Floats losses(static_cast<std::size_t>(text.size() - 1));
  for (std::int64_t i = 0; i < cut.count(); ++i) {
    const WindowCut::Window window = cut[i];
    predictor.score_and_learn(text, window,
                              std::span(losses).subspan(static_cast<std::size_t>(window.begin + window.from),
                                                        static_cast<std::size_t>(window.to - window.from)));
  }
  return losses;
}

TEST_CASE("losses of an adapting network are the reference's") {
  const nlohmann::json document = golden_figures("adaptation");
  REQUIRE(document.at("cases").size() == 3);
  for (const auto& figures : document.at("cases")) {
    INFO(figures.at("name"));
    const std::int64_t vocab_size = figures.at("vocab_size");
    std::map<std::string, Floats> values;
    for (const auto& row : figures.at("parameters")) {
      std::size_t numel = 1;
      for (const auto& size : row.at("shape")) numel *= size.get<std::size_t>();
      values[row.at("name")].resize(numel);
      fill_by_formula(values[row.at("name")], row);
    }
    const TestModel model(golden_config(figures.at("model")), vocab_size,
                          [&](const std::string& name, const auto&) { return values.at(name).data(); });
    Text ids;
    for (std::uint32_t j = 0; j <= document.at("targets").get<std::uint32_t>(); ++j)
      ids.push_back(static_cast<std::uint8_t>(mix(3000 + j) % static_cast<std::uint32_t>(vocab_size)));
    AdaptiveNetwork network(model, 1, {.rate = document.at("rate"), .decay = document.at("decay")});
    const Floats losses = losses_of(network, view_of(ids), document.at("stride"));
    const std::vector<double> expected = figures.at("losses");
    REQUIRE(losses.size() == expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == Approx(expected[i]).margin(1e-4));
  }
}

TEST_CASE_METHOD(DrawnModel, "a later character changes no earlier loss, to the bit") {
  Text text = text_of(60);
  const auto losses = [&] {
    AdaptiveNetwork adaptive(model, 1, {.rate = 0.01, .decay = 0.001});
    return losses_of(adaptive, view_of(text), 3);
  };
  const Floats before = losses();
  for (const std::size_t place : {1U, 8U, 9U, 30U, 59U}) {
    const Text kept = text;
    text[place] = static_cast<std::uint8_t>((text[place] + 1) % test_vocab);
    const Floats after = losses();
    CHECK(std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(place) - 1, after.begin()));
    CHECK(before[place - 1] != after[place - 1]);
    text = kept;
  }
}

TEST_CASE("at rate 0 the losses are those of the trained network, to the bit, for each model") {
  const Text text = text_of(30);
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    const DrawnModel network(variant.config);
    NetworkPredictor frozen(network.model, 1);
    AdaptiveNetwork adaptive(network.model, 1, {.rate = 0, .decay = 0.5});
    CHECK(losses_of(adaptive, view_of(text), 4) == losses_of(frozen, view_of(text), 4));
  }
}

TEST_CASE_METHOD(DrawnModel, "a window's losses and logits are those from before it was learned, and teach the same") {
  const Text text = text_of(60);
  const Adaptation adaptation{.rate = 0.01, .decay = 0.01};
  AdaptiveNetwork by_losses(model, 1, adaptation), by_logits(model, 2, adaptation);
  const WindowCut cut(view_of(text), 8, 4);
  for (std::int64_t i = 0; i < cut.count(); ++i) {
    const WindowCut::Window window = cut[i];
    const WindowBatch alone{.tokens = view_of(text), .starts = {&window.begin, 1}, .T = window.length};
    Floats before(static_cast<std::size_t>(window.length)), losses(static_cast<std::size_t>(window.to - window.from));
    by_logits.score(alone, before);
    by_losses.score_and_learn(view_of(text), window, losses);
    CHECK(std::equal(losses.begin(), losses.end(), before.begin() + window.from));
    Floats expected(before.size() * test_vocab), logits = expected;
    by_logits.logits(alone, expected);
    by_logits.logits_and_learn(view_of(text), window, logits);
    CHECK(logits == expected);
  }
}

TEST_CASE_METHOD(DrawnModel, "of documents, the next one's beginning is not learned from before its own window") {
  constexpr std::uint8_t end = test_vocab - 1;
  Text text = {end, 1, 2, 3, end, 4, 5, 6, 7, 8, 9, end};  // the second document does not fit beside the first
  const auto losses = [&] {
    AdaptiveNetwork adaptive(model, 1, {.rate = 0.01});
    return losses_of(adaptive, view_of(text, end), 4);
  };
  const WindowCut cut(view_of(text, end), 8, 4);
  REQUIRE(cut.count() == 2);
  REQUIRE(cut[0].to == 4);
  const Floats before = losses();
  text[5] = 3;
  const Floats after = losses();
  CHECK(std::equal(before.begin(), before.begin() + 4, after.begin()));
  // What the first window taught is the same too: the second's first target has one loss for one target.
  text[5] = 4, text[7] = 2;
  CHECK(losses()[4] == before[4]);
}

}  // namespace
}  // namespace chargpt
