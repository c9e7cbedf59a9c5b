// Worked examples of a lecture and of teaching notebooks, by the forward pass that scores and samples:
// tests/golden/worked_examples.json.
#include <map>

#include "config/load.h"
#include "golden_weights.h"
#include "kept_windows.h"
#include "network/drawn_model.h"
#include "network/walk.h"
#include "predict/network.h"

namespace chargpt {
namespace {

Floats flat(const nlohmann::json& value) {
  if (!value.is_array()) return {value.get<float>()};
  Floats numbers;
  for (const auto& entry : value) std::ranges::copy(flat(entry), std::back_inserter(numbers));
  return numbers;
}

/// The example's model. Parameters that it does not give are zero, but for a head that is the identity.
class ExampleModel {
 public:
  explicit ExampleModel(const nlohmann::json& example) : weights_(example.at("weights")) {
    const std::int64_t vocab_size = example.at("vocab_size");
    model_.emplace(golden_config(example.at("model")), vocab_size,
                   [this](const std::string& name, const std::vector<std::int64_t>& shape) {
                     const std::size_t columns = shape.size() < 2 ? 1 : static_cast<std::size_t>(shape[1]);
                     Floats& values = values_[name];
                     values.resize(static_cast<std::size_t>(shape[0]) * columns);
                     if (weights_.contains(name)) {
                       const Floats given = flat(weights_.at(name));
                       INFO(name);
                       REQUIRE(given.size() == values.size());
                       values = given;
                     } else if (name == "lm_head.weight") {
                       for (std::size_t i = 0; i < values.size(); i += columns + 1) values[i] = 1;
                     }
                     return values.data();
                   });
    for (const auto& [name, value] : weights_.items()) {
      INFO(name);
      REQUIRE(values_.contains(name));
    }
  }
  const InferenceModel& operator*() const { return *model_; }

 private:
  const nlohmann::json& weights_;
  std::map<std::string, Floats> values_;
  std::optional<TestModel> model_;
};

/// The last rows and first columns of a matrix (rows, columns) are those of `expected`.
void check_corner(std::span<const float> matrix, std::size_t columns, const nlohmann::json& expected,
                  double tolerance) {
  const std::size_t rows = matrix.size() / columns;
  REQUIRE(expected.size() <= rows);
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const Floats wanted = flat(expected[row]);
    REQUIRE(wanted.size() <= columns);
    for (std::size_t column = 0; column < wanted.size(); ++column) {
      CAPTURE(row, column);
      CHECK(matrix[(rows - expected.size() + row) * columns + column] ==
            Approx(wanted[column]).margin(tolerance).epsilon(0));
    }
  }
}

Floats logits_of(const InferenceModel& model, Ids ids) {
  ids.push_back(0);  // a target
  Floats logits((ids.size() - 1) * static_cast<std::size_t>(model.vocab_size()));
  NetworkPredictor(model, 1).logits(kept_windows(ids, 1), logits);
  return logits;
}

/// Mean over all positions of all windows.
double loss_of(const InferenceModel& model, const nlohmann::json& example) {
  const auto windows = example.at("windows").get<std::vector<Ids>>(),
             targets = example.at("targets").get<std::vector<Ids>>();
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Ids ids = windows[i];
    ids.push_back(targets[i].back());
    REQUIRE(std::equal(targets[i].begin(), targets[i].end(), ids.begin() + 1, ids.end()));
    Floats losses(targets[i].size());
    NetworkPredictor(model, 1).score(kept_windows(ids, 1), losses);
    for (const float loss : losses) sum += loss;
    count += losses.size();
  }
  return sum / static_cast<double>(count);
}

}  // namespace

TEST_CASE("attention weights, layers, whole models and losses are those of the worked examples") {
  const nlohmann::json document = golden_figures("worked_examples");
  for (const nlohmann::json& example : document.at("examples")) {
    INFO(example.at("id").get<std::string>() << ": " << example.at("says").get<std::string>());
    const double tolerance = example.at("tolerance");
    const ExampleModel model(example);
    for (std::size_t i = 0; i < example.at("windows").size(); ++i) {
      CAPTURE(i);
      const Ids ids = example["windows"][i];
      if (example.contains("logits"))
        check_corner(logits_of(*model, ids), static_cast<std::size_t>((*model).vocab_size()), example["logits"][i],
                     tolerance);
      if (!example.contains("attention")) continue;
      const AttentionWeights weights = attention_weights(*model, ids);
      REQUIRE(std::ssize(example["attention"][i]) == weights.layers * weights.heads);
      for (std::size_t head = 0; head < example["attention"][i].size(); ++head)
        check_corner(weights.of_head(0, static_cast<std::int64_t>(head)), ids.size(), example["attention"][i][head],
                     tolerance);
    }
    if (example.contains("loss"))
      CHECK(loss_of(*model, example) == Approx(example["loss"].get<double>()).margin(tolerance).epsilon(0));
  }
}

TEST_CASE("the notebook's models have as many parameters as the ladder's") {
  const auto count = [](const std::string& rung) {
    return count_parameters(load_config("ladder/" + rung).config.model, 65);
  };
  CHECK(count("bigram") == 8'385);
  CHECK(count("average") == 8'385);
  CHECK(count("masked") == 8'897);  // the notebook builds, and never uses, a layer of 520 more
  CHECK(count("transformer") == 145'793);
}

}  // namespace chargpt
