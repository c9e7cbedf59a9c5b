// Counts and their mixture with a network, against scripts/reference/counts.py, which computes the same in Python.
#include <nlohmann/json.hpp>

#include "golden_weights.h"
#include "predict/counted.h"
#include "predict/formula_network.h"
#include "predict/mixture.h"
#include "test.h"

namespace chargpt {
namespace {

using nlohmann::json;

const json& golden() {
  static const json figures = golden_figures("counts");
  return figures;
}

struct Case {
  explicit Case(const json& row) {
    std::string train_text = row.at("train"), own_text = row.at("text");
    vocabulary = vocabulary_of(train_text + own_text);
    if (row.at("documents").get<bool>()) {  // each line's end is a document's
      std::vector<char32_t> symbols = vocabulary.code_points();
      std::erase(symbols, U'\n');
      vocabulary = Vocabulary::of_characters(symbols).with_documents();
    }
    const auto ids_of = [&](const std::string& characters) {
      Stored ids;
      for (const char character : characters) {
        const std::int64_t id = vocabulary.id_of(static_cast<char32_t>(character));
        ids.push_back(static_cast<std::uint8_t>(id >= 0 ? id : vocabulary.document()));
      }
      return ids;
    };
    train = ids_of(train_text);
    text = ids_of(own_text);
  }
  Vocabulary vocabulary = Vocabulary::of_bytes();
  Stored train, text;
};

template <class Number>
void check_losses(const std::vector<Number>& found, const json& expected, double margin) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("symbol " << i);
    CHECK(found[i] == Approx(expected[i].get<double>()).epsilon(0).margin(margin));
  }
}

}  // namespace

TEST_CASE("counts are those of the reference, while they learn a text and then, frozen, on another") {
  for (const json& row : golden().at("cases")) {
    const Case own(row);
    Counts counts(own.vocabulary, frequencies_of(view_of(own.train), own.vocabulary.size()), std::ssize(own.train));
    Counts::History history;
    std::vector<double> losses;
    for (const std::uint8_t id : own.train) losses.push_back(learned_loss(counts, history, id));
    check_losses(losses, row.at("train_losses"), 1e-9);
    losses.clear();
    history = counts.history_of(Ids{own.text[0]});
    for (std::size_t i = 1; i < own.text.size(); ++i) {
      losses.push_back(frozen_loss(counts, history, own.text[i]));
      counts.advance(history, own.text[i]);
    }
    check_losses(losses, row.at("losses"), 1e-9);
  }
}

TEST_CASE("mixtures are those of the reference, frozen in windows and while they learn") {
  for (const json& row : golden().at("cases")) {
    const Case own(row);
    const std::int64_t window = row.at("window");
    FormulaNetwork network(own.vocabulary.size(), window);
    const MixtureWeights weights{row.at("weights").at("network"), row.at("weights").at("counts")};
    Mixture mixture(network, 2, counts_of(own.vocabulary, own.train), weights);
    const TokenView tokens = view_of(own.text);
    std::vector<float> frozen(own.text.size() - 1), adaptive(frozen.size());
    const WindowCut cut(tokens, window);
    for (const bool learn : {false, true})
      for (std::int64_t i = 0; i < cut.count(); ++i) {
        const WindowCut::Window one = cut[i];
        const auto place = static_cast<std::size_t>(one.begin);
        if (learn)
          mixture.score_and_learn(tokens, one, std::span(adaptive).subspan(place));
        else
          mixture.score({.tokens = tokens, .starts = {&one.begin, 1}, .T = one.length},
                        std::span(frozen).subspan(place, static_cast<std::size_t>(one.length)));
      }
    check_losses(frozen, row.at("mixture_losses"), 1e-6);
    check_losses(adaptive, row.at("adaptive_losses"), 1e-6);
  }
}

TEST_CASE("the weights of a mixture are those of the reference") {
  const json& row = golden().at("weights");
  const std::string text = row.at("text");
  const Vocabulary vocabulary = vocabulary_of(text);
  const Stored train = stored(vocabulary, text);
  FormulaNetwork network(vocabulary.size(), row.at("window"));
  const Mixture mixture(network, 1, vocabulary, view_of(train));
  const auto expected = [&](const char* name) { return Approx(row.at(name).get<double>()).epsilon(0).margin(1e-6); };
  CHECK(mixture.learning().tokens == row.at("tokens").get<std::int64_t>());
  CHECK(mixture.weights().network == expected("network"));
  CHECK(mixture.weights().counts == expected("counts"));
}

}  // namespace chargpt
