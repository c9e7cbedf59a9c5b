// Logits and every gradient of each model against scripts/reference/models.py, which shares no code with them.
#include <nlohmann/json.hpp>

#include "variants.h"
//
#include "golden_weights.h"
#include "test.h"

namespace chargpt {
namespace {

using nlohmann::json;
using torch::Tensor;

Tensor ids_of(const json& rows) {
  const auto T = static_cast<std::int64_t>(rows.at(0).size());
  Tensor ids = at::empty({static_cast<std::int64_t>(rows.size()), T}, at::kLong);
  for (std::int64_t b = 0; b < ids.size(0); ++b)
    for (std::int64_t t = 0; t < T; ++t) ids.index_put_({b, t}, rows[b][t].get<std::int64_t>());
  return ids;
}

/// Largest excess of |got - expected| over 1e-6 + 1e-4 |expected|, at most 0 where all agree.
double excess(const Tensor& got, const json& expected) {
  const Tensor wanted = torch::tensor(expected.get<std::vector<double>>(), at::kDouble);
  return ((got.flatten().to(at::kDouble) - wanted).abs() - 1e-4 * wanted.abs() - 1e-6).max().item<double>();
}

void check_case(const json& figures, AttentionMaps* maps) {
  const auto model = make_model(golden_config(figures.at("model")), figures.at("vocab_size"), 1);
  auto parameters = model->named_parameters();
  REQUIRE(parameters.size() == figures.at("parameters").size());
  for (const auto& row : figures.at("parameters")) {
    INFO(row);
    const std::string name = row.at("name");
    REQUIRE(parameters.contains(name));
    REQUIRE(parameters[name].sizes().vec() == row.at("shape").get<std::vector<std::int64_t>>());
    Tensor& parameter = parameters[name];
    fill_by_formula({parameter.data_ptr<float>(), static_cast<std::size_t>(parameter.numel())}, row);
  }

  const Tensor logits = model->forward(ids_of(figures.at("ids")), {.attention = maps});
  CHECK(excess(logits.detach(), figures.at("logits")) <= 0);
  const Tensor loss = mean_loss(logits, ids_of(figures.at("targets")));
  CHECK(loss.item<double>() == Approx(figures.at("loss").get<double>()).epsilon(1e-5));
  loss.backward();
  for (const auto& [name, gradient] : figures.at("gradients").items()) {
    INFO(name);
    CHECK(excess(parameters[name].grad(), gradient) <= 0);
  }
}

TEST_CASE_METHOD(OneThread, "logits and every gradient are the reference's, for each type and option, fused or not") {
  const json document = golden_figures("models");
  CHECK(document.at("cases").size() == 15);
  for (const auto& figures : document.at("cases")) {
    INFO(figures.at("name"));
    AttentionMaps maps;
    check_case(figures, nullptr);
    check_case(figures, &maps);
  }
}

}  // namespace
}  // namespace chargpt
