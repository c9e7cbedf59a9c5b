#include "network/arena.h"

#include "engine/optimizer.h"
#include "failure.h"
#include "tiny_arena.h"

using namespace chargpt;

namespace {

std::vector<std::string> names(const ParameterArena& arena, std::size_t group) {
  std::vector<std::string> names;
  for (const Parameter& parameter : arena.parameters_of(arena.groups()[group])) names.push_back(parameter.name);
  return names;
}

SafetensorsFile parsed(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "weights.safetensors");
}

}  // namespace

TEST_CASE_METHOD(TinyArena, "matrices decay and vectors do not, by default") {
  REQUIRE(groups().size() == 2);
  CHECK(groups()[0].name == "decay");
  CHECK(groups()[0].weight_decay == 0.1);
  CHECK(names(*this, 0) == std::vector<std::string>{"wte.weight", "linear.weight"});
  CHECK(groups()[1].name == "no_decay");
  CHECK(groups()[1].weight_decay == 0);
  CHECK(names(*this, 1) == std::vector<std::string>{"norm.weight", "norm.bias", "linear.bias"});
  CHECK(numel() == 7 * 5 + 5 * 5 + 3 * 5);
}

TEST_CASE("decay: all puts every parameter into one group") {
  const TinyArena arena({}, Decay::all);
  REQUIRE(arena.groups().size() == 1);
  CHECK(arena.parameters_of(arena.groups()[0]).size() == 5);
}

TEST_CASE_METHOD(TinyArena, "parameters begin at cache lines, and what lies between is zero") {
  CHECK(parameters()[1].offset == 48);
  CHECK(groups()[1].begin == 48 + 32);
  CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % 64 == 0);
  CHECK(std::ranges::all_of(values.all().subspan(35, 13), [](float value) { return value == 0; }));
}

TEST_CASE("train.groups come first, in their order, with their own rate and decay") {
  const TinyArena arena({.groups = {{.match = "^wte", .learning_rate = 0.5, .weight_decay = 0.25},
                                    {.match = "weight$", .learning_rate = 2, .weight_decay = 0}}});
  REQUIRE(arena.groups().size() == 3);
  CHECK(names(arena, 0) == std::vector<std::string>{"wte.weight"});
  CHECK(arena.groups()[0].learning_rate == 0.5);
  CHECK(arena.groups()[0].weight_decay == 0.25);
  CHECK(names(arena, 1) == std::vector<std::string>{"norm.weight", "linear.weight"});
  CHECK(arena.groups()[2].name == "no_decay");
}

TEST_CASE("a group's rate is its multiple of the learning rate, and its decay that of all, unless it states its own") {
  const TinyArena arena(
      {.learning_rate = 2e-3,
       .weight_decay = 0.3,
       .groups = {{.match = "^wte", .lr_scale = 50}, {.match = "linear", .learning_rate = 0.5, .weight_decay = 0}}});
  CHECK(arena.groups()[0].learning_rate == 0.1);
  CHECK(arena.groups()[0].weight_decay == 0.3);
  CHECK(arena.groups()[1].learning_rate == 0.5);
  CHECK(arena.groups()[1].weight_decay == 0);
  CHECK(arena.groups()[2].learning_rate == 2e-3);
}

TEST_CASE("a group's pattern that is wrong or matches nothing is named") {
  TrainConfig train{.groups = {{.match = "wpe", .learning_rate = 1, .weight_decay = 0}}};
  CHECK_THROWS_WITH(TinyArena{train},
                    Catch::Contains("train.groups[0].match = \"wpe\" does not match any remaining parameter"));
  train.groups[0].match = "(";
  CHECK_THROWS_WITH(TinyArena{train}, Catch::Contains("train.groups[0].match"));
}

TEST_CASE("muon takes the matrices that its pattern matches and leaves the rest to others") {
  TrainConfig train{.groups = {{.match = "linear|norm", .learning_rate = 0.1, .optimizer = UpdateRule::muon}}};
  const TinyArena arena(train);
  REQUIRE(arena.groups().size() == 3);
  CHECK(names(arena, 0) == std::vector<std::string>{"linear.weight"});
  CHECK(arena.groups()[2].name == "no_decay");
  CHECK(names(arena, 2) == std::vector<std::string>{"norm.weight", "norm.bias", "linear.bias"});
  train.groups[0].match = "norm";
  CHECK_THROWS_WITH(
      TinyArena{train},
      "train.groups[0].match = \"norm\" does not match any remaining parameter that muon can update; remaining: "
      "wte.weight, norm.weight, norm.bias and 2 more");
}

TEST_CASE_METHOD(TinyArena, "the gradient norm is over all groups") {
  std::ranges::fill(gradients.all(), 0.0F);
  CHECK(gradient_norm() == 0);
  gradients.data()[groups()[0].begin] = 3;
  gradients.data()[groups()[1].begin] = 4;
  CHECK(gradient_norm() == 5);
}

TEST_CASE_METHOD(TinyArena, "one weight that is not finite is found") {
  CHECK(is_finite());
  values_of(*this, "linear.bias")[4] = std::nanf("");
  CHECK_FALSE(is_finite());
}

TEST_CASE("weights and moments written and read back are the same bits") {
  TinyArena arena;
  for (int step = 0; step < 3; ++step) update(arena, {});
  const std::string weights = safetensors_bytes(arena.weights_in(arena.values)),
                    moments = safetensors_bytes(arena.optimizer_tensors());
  ParameterArena again(tiny_parameters(), Decay::matrices, {});
  read_weights(again.parameters(), parsed(weights).tensors, "weights", again.values.data());
  again.load_optimizer(parsed(moments).tensors, 3, "moments");
  CHECK(ArenaCopy(arena).has_bits_of(again));
}

TEST_CASE_METHOD(TinyArena, "a checkpoint names what nanoGPT's state_dict would, and moments beside it") {
  CHECK(weights_in(values)[0].name == "wte.weight");
  CHECK(weights_in(values)[0].shape == std::vector<std::int64_t>{7, 5});
  const std::vector<TensorView> moments = optimizer_tensors();
  CHECK(moments.size() == 10);
  CHECK(moments[0].name == "moment1.wte.weight");
}

TEST_CASE_METHOD(TinyArena, "weights of another model are refused by name, shape and dtype") {
  std::vector<TensorView> tensors = weights_in(values);
  const auto load = [&] {
    const std::string file = safetensors_bytes(tensors);
    read_weights(parameters(), parsed(file).tensors, "m", values.data());
  };
  const auto refusal = [&] { return error_of(load).line; };
  CHECK_NOTHROW(load());
  tensors[0].name = "transformer.wte.weight";
  CHECK(refusal() == "m has no tensor wte.weight (F32 (7, 5)); it belongs to another model");
  tensors[0].name = "wte.weight";
  tensors[0].shape = {5, 7};
  CHECK(refusal() == "m: tensor wte.weight is F32 (5, 7) and should be F32 (7, 5); it belongs to another model");
  tensors[0].shape = {7, 5};
  tensors[0].dtype = "I32";
  CHECK(refusal() == "m: tensor wte.weight is I32 (7, 5) and should be F32 (7, 5); it belongs to another model");
  tensors[0].dtype = "F32";
  TensorView surplus = tensors[0];
  surplus.name = "wpe.weight";
  tensors.push_back(surplus);
  CHECK(refusal() == "m has a tensor that this model lacks: wpe.weight; it belongs to another model");
}
