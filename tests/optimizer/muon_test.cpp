// Muon against scripts/reference/updates.py, which takes one matrix after the other in float64.
#include "optimizer/muon.h"

#include <ATen/Parallel.h>

#include "base/error.h"
#include "golden_updates.h"
#include "optimizer/orthogonal.h"
#include "tiny_model.h"

#include "learner/step.h"
#include "test.h"

using namespace chargpt;

namespace {

/// Parameters of the golden file under their names, each registered as it is.
class GoldenMatrices : public LanguageModel {
 public:
  explicit GoldenMatrices(const nlohmann::json& rows) : LanguageModel({}, 7), rows_(rows) {
    for (std::size_t k = 0; k < rows.size(); ++k)
      register_parameter(rows[k]["name"], golden_weights(rows[k]["shape"].get<std::vector<std::int64_t>>(),
                                                         static_cast<std::uint32_t>(k)));
  }
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& = {}) override { return ids; }
  std::int64_t stacked_matrices(const std::string& parameter) const override {
    for (const auto& row : rows_)
      if (row["name"] == parameter) return row["stacked"];
    return 1;
  }

 private:
  nlohmann::json rows_;
};

TrainConfig muon_config(const std::string& match, double rate, double decay = 0, double momentum = 0.95) {
  TrainConfig train;
  train.groups = {{.match = match,
                   .learning_rate = rate,
                   .weight_decay = decay,
                   .optimizer = UpdateRule::muon,
                   .momentum = momentum}};
  return train;
}

void check_golden(void (*rule)(ParameterGroup&, std::int64_t, const UpdateContext&)) {
  const nlohmann::json golden = golden_updates()["muon"];
  GoldenMatrices model(golden["parameters"]);
  ParameterArena arena(model, muon_config(".", golden["learning_rate"], golden["weight_decay"], golden["momentum"]));
  REQUIRE(arena.groups().size() == 1);
  ParameterGroup& group = arena.groups()[0];
  start_moments(group);
  for (std::size_t s = 0; s < golden["updates"].size(); ++s) {
    for (std::size_t k = 0; k < group.slots.size(); ++k)
      slot_of(group.gradients, group.slots[k])
          .copy_(golden_weights(group.slots[k].shape, static_cast<std::uint32_t>(100 * (s + 1) + k)));
    const torch::NoGradGuard no_grad;
    rule(group, static_cast<std::int64_t>(s + 1),
         {.lr_factor = golden["updates"][s]["lr_factor"], .gradient_scale = golden["updates"][s]["gradient_scale"]});
    for (std::size_t k = 0; k < group.slots.size(); ++k) {
      INFO(group.slots[k].name << " after update " << s + 1);
      CHECK(distance(slot_of(group.values, group.slots[k]), golden["after"][s]["values"][k]) < 2e-6);
      CHECK(distance(slot_of(group.moment1, group.slots[k]), golden["after"][s]["moments"][k]) < 1e-6);
    }
  }
  CHECK_FALSE(group.moment2.defined());
}

}  // namespace

TEST_CASE("three updates of stacked, square, tall and wide matrices are the reference's") {
  SECTION("by kernels") {
    check_golden(muon);
  }
  SECTION("by operations") {
    check_golden(muon_by_operations);
  }
}

TEST_CASE("kernels and operations agree for every shape and every instruction set, and threads change no bit") {
  const nlohmann::json shapes = {{64, 64}, {64, 256}, {256, 64}, {33, 7}, {7, 33}, {1, 5}, {5, 1}, {100, 101}};
  nlohmann::json rows;
  for (const auto& shape : shapes)
    rows.push_back({{"name", "x" + std::to_string(rows.size())}, {"shape", shape}, {"stacked", 1}});
  const auto updated = [&](auto rule, int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    GoldenMatrices model(rows);
    ParameterArena arena(model, muon_config(".", 0.1));
    ParameterGroup& group = arena.groups()[0];
    start_moments(group);
    group.gradients.copy_(golden_weights({group.gradients.numel()}, 50));
    group.values.zero_();
    rule(group, 1, UpdateContext{});
    at::set_num_threads(before);
    std::vector<torch::Tensor> values;
    for (const ParameterSlot& slot : group.slots) values.push_back(slot_of(group.values, slot).clone());
    return values;
  };
  const auto kernels = updated(muon, 1), operations = updated(muon_by_operations, 1), threads = updated(muon, 2);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    INFO(rows[i]["shape"]);
    CHECK((kernels[i] - operations[i]).abs().max().item<double>() < 2e-6);
    CHECK(kernels[i].abs().max().item<double>() > 0.001);
    CHECK(torch::equal(kernels[i], threads[i]));
  }
  for (const cpu::Kernels* set : cpu::all_kernels()) {
    INFO(set->name);
    std::vector<float> scratch;
    torch::Tensor u = golden_weights({64 * 20 + set->slack}, 51), got = torch::zeros({64, 20});
    cpu::add_orthogonalised(*set, 64, 20, u.const_data_ptr<float>(), 0.5, got.mutable_data_ptr<float>(), scratch);
    const torch::Tensor expected = 0.5 * orthogonalised(u.narrow(0, 0, 64 * 20).view({1, 64, 20}))[0];
    CHECK((got - expected).abs().max().item<double>() < 1e-5);
  }
}

TEST_CASE("a gradient of zeros moves nothing") {
  const nlohmann::json rows = {{{"name", "x"}, {"shape", {3, 4}}, {"stacked", 1}}};
  GoldenMatrices model(rows);
  ParameterArena arena(model, muon_config(".", 0.1));
  const torch::Tensor before = arena.groups()[0].values.clone();
  update(arena, {});
  CHECK(torch::equal(arena.groups()[0].values, before));
}

TEST_CASE("singular values come near 1, whatever the scale, and zero stays zero") {
  const torch::Tensor x = golden_weights({2, 8, 24}, 3);
  const torch::Tensor singular = at::linalg_svdvals(orthogonalised(1e-6 * x));
  CHECK(singular.min().item<double>() > 0.6);
  CHECK(singular.max().item<double>() < 1.3);
  CHECK(orthogonalised(torch::zeros({1, 3, 4})).abs().max().item<double>() == 0);
}

TEST_CASE("the step of one row is the rate, in the gradient's direction") {
  const nlohmann::json row = {{{"name", "row"}, {"shape", {1, 2}}, {"stacked", 1}}};
  GoldenMatrices model(row);
  ParameterArena arena(model, muon_config(".", 0.1));
  ParameterGroup& group = arena.groups()[0];
  group.values.zero_();
  group.gradients.copy_(torch::nn::functional::pad(
      torch::tensor({-3.0F, 4.0F}), torch::nn::functional::PadFuncOptions({0, group.gradients.numel() - 2})));
  update(arena, {});
  // |x| = 1 goes through x (a + b x^2 + c x^4) five times: 0.701, 1.121, ... 0.7 to 1.2
  const double length = group.values.norm().item<double>();
  CHECK(length > 0.065);
  CHECK(length < 0.125);
  CHECK(group.values[0].item<double>() == Approx(0.6 * length));
  CHECK(group.values[1].item<double>() == Approx(-0.8 * length));
}

TEST_CASE("muon takes the matrices that its pattern matches and leaves the rest to others") {
  TiedModel model;
  const ParameterArena arena(model, muon_config("linear|norm", 0.1));
  REQUIRE(arena.groups().size() == 3);
  REQUIRE(arena.groups()[0].slots.size() == 1);
  CHECK(arena.groups()[0].slots[0].name == "linear.weight");
  CHECK(arena.groups()[2].name == "no_decay");
  CHECK(arena.groups()[2].slots.size() == 3);  // norm.weight, norm.bias, linear.bias
}

TEST_CASE("muon on vectors alone is refused, with what is left") {
  TiedModel model;
  CHECK_THROWS_WITH(ParameterArena(model, muon_config("norm", 0.1)),
                    "train.groups[0].match = \"norm\" matches no parameter for muon that an earlier group has left; "
                    "left are wte.weight, norm.weight, norm.bias and 2 more");
}

TEST_CASE("muon stays float32 in a bfloat16 run") {
  TrainConfig rounded = muon_config("linear.weight", 0.1), exact = rounded;
  rounded.dtype = Dtype::bfloat16;
  TiedModel model, reference;
  ParameterArena arena(model, rounded), expected(reference, exact);
  const auto engine = make_engine("autograd", model, arena, rounded);
  const auto exact_engine = make_engine("autograd", reference, expected, exact);
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  make_step(*engine, arena, rounded, 1, {.step = 0, .seed = 1, .micro_batches = batches});
  make_step(*exact_engine, expected, exact, 1, {.step = 0, .seed = 1, .micro_batches = batches});
  const torch::Tensor step = expected.groups()[0].values, got = arena.groups()[0].values;
  CHECK(got.scalar_type() == torch::kFloat32);
  CHECK(at::linalg_svdvals(orthogonalised(arena.groups()[0].moment1.narrow(0, 0, 25).view({1, 5, 5})))
            .max()
            .item<double>() < 1.3);
  CHECK((got - step).abs().max().item<double>() < 0.05);
}
