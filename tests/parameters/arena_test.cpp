#include "parameters/arena.h"

#include <torch/nn/module.h>

#include <map>

#include "base/error.h"
#include "engine/engine.h"
#include "tiny_model.h"

#include "learner/step.h"
#include "test.h"

using namespace chargpt;

namespace {

std::vector<std::string> names(const ParameterGroup& group) {
  std::vector<std::string> names;
  for (const ParameterSlot& slot : group.slots) names.push_back(slot.name);
  return names;
}

bool shares_memory(const torch::Tensor& view, const torch::Tensor& buffer) {
  const auto* begin = buffer.const_data_ptr<float>();
  const auto* at = view.const_data_ptr<float>();
  return at >= begin && at + view.numel() <= begin + buffer.numel();
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A safetensors file in memory.
std::string file_of(const std::vector<TensorView>& tensors) {
  std::string header = "{", bytes;
  for (const TensorView& tensor : tensors) {
    header +=
        (header.size() > 1 ? "," : "") + ("\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[");
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      if (d > 0) header += ",";
      header += std::to_string(tensor.shape[d]);
    }
    header += "],\"data_offsets\":[" + std::to_string(bytes.size()) + ",";
    bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    header += std::to_string(bytes.size()) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string file(8, '\0');
  for (int i = 0; i < 8; ++i) file[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
  return file + header + bytes;
}

SafetensorsFile parsed(const std::string& file) {
  return SafetensorsFile(std::as_bytes(std::span(file)), "weights.safetensors");
}

}  // namespace

TEST_CASE("matrices decay and vectors do not, by default") {
  TiedModel model;
  const ParameterArena arena(model, {});
  REQUIRE(arena.groups().size() == 2);
  CHECK(arena.groups()[0].name == "decay");
  CHECK(arena.groups()[0].weight_decay == 0.1);
  CHECK(names(arena.groups()[0]) == std::vector<std::string>{"wte.weight", "linear.weight"});
  CHECK(arena.groups()[1].name == "no_decay");
  CHECK(arena.groups()[1].weight_decay == 0);
  CHECK(names(arena.groups()[1]) == std::vector<std::string>{"norm.weight", "norm.bias", "linear.bias"});
  CHECK(arena.numel() == 7 * 5 + 5 * 5 + 3 * 5);
}

TEST_CASE("decay: all puts every parameter into one group") {
  ModelConfig config;
  config.decay = Decay::all;
  TiedModel model(config);
  const ParameterArena arena(model, {});
  REQUIRE(arena.groups().size() == 1);
  CHECK(arena.groups()[0].slots.size() == 5);
}

TEST_CASE("train.groups come first, in their order, with their own rate and decay") {
  TiedModel model;
  TrainConfig train;
  train.groups = {{.match = "^wte", .learning_rate = 0.5, .weight_decay = 0.25, .optimizer = UpdateRule::adamw},
                  {.match = "weight$", .learning_rate = 2, .weight_decay = 0, .optimizer = UpdateRule::adamw}};
  const ParameterArena arena(model, train);
  REQUIRE(arena.groups().size() == 3);
  CHECK(names(arena.groups()[0]) == std::vector<std::string>{"wte.weight"});
  CHECK(arena.groups()[0].learning_rate == 0.5);
  CHECK(arena.groups()[0].weight_decay == 0.25);
  CHECK(names(arena.groups()[1]) == std::vector<std::string>{"norm.weight", "linear.weight"});
  CHECK(arena.groups()[2].name == "no_decay");
}

TEST_CASE("a group's rate is its multiple of the learning rate, and its decay that of all, unless it states its own") {
  TiedModel model;
  TrainConfig train;
  train.learning_rate = 2e-3;
  train.weight_decay = 0.3;
  train.groups = {{.match = "^wte", .lr_scale = 50}, {.match = "linear", .learning_rate = 0.5, .weight_decay = 0}};
  const ParameterArena arena(model, train);
  CHECK(arena.groups()[0].learning_rate == 0.1);
  CHECK(arena.groups()[0].weight_decay == 0.3);
  CHECK(arena.groups()[1].learning_rate == 0.5);
  CHECK(arena.groups()[1].weight_decay == 0);
  CHECK(arena.groups()[2].learning_rate == 2e-3);
}

TEST_CASE("a group's pattern that is wrong or matches nothing is named") {
  TiedModel model;
  TrainConfig train;
  train.groups = {{.match = "wpe", .learning_rate = 1, .weight_decay = 0, .optimizer = UpdateRule::adamw}};
  CHECK(message_of([&] {
          ParameterArena(model, train);
        }).find("train.groups[0].match = \"wpe\" matches no parameter") != std::string::npos);
  train.groups[0].match = "(";
  CHECK(message_of([&] { ParameterArena(model, train); }).find("train.groups[0].match") != std::string::npos);
}

TEST_CASE("moving a model into an arena changes no value") {
  TiedModel fresh, model;
  const ParameterArena arena(model, {});
  const auto before = fresh.named_parameters(), after = model.named_parameters();
  for (const auto& item : before) CHECK(torch::equal(item.value(), after[item.key()]));
}

TEST_CASE("weights and gradients stay views of the buffers after backward, tied ones too") {
  TiedModel model;
  ParameterArena arena(model, {});
  const WindowBatch batch = formula_batch(0, 2, 3, 7);
  for (int round = 0; round < 2; ++round) {
    arena.zero_gradients();
    model.forward(inputs_of(batch)).pow(2).sum().backward();
    for (const ParameterGroup& group : arena.groups()) {
      for (const ParameterSlot& slot : group.slots) {
        const torch::Tensor parameter = model.named_parameters()[slot.name];
        INFO(slot.name << " in round " << round);
        CHECK(shares_memory(parameter, group.values));
        CHECK(shares_memory(parameter.grad(), group.gradients));
        CHECK(parameter.grad().abs().sum().item<float>() > 0);
      }
    }
  }
}

TEST_CASE("gradients add up until they are zeroed") {
  TiedModel model;
  ParameterArena arena(model, {});
  const WindowBatch batch = formula_batch(0, 2, 3, 7);
  model.forward(inputs_of(batch)).pow(2).sum().backward();
  const torch::Tensor once = arena.groups()[0].gradients.clone();
  model.forward(inputs_of(batch)).pow(2).sum().backward();
  CHECK(torch::allclose(arena.groups()[0].gradients, 2 * once));
  arena.zero_gradients();
  CHECK(arena.gradient_norm().item<float>() == 0);
}

TEST_CASE("the gradient norm is over all groups") {
  TiedModel model;
  ParameterArena arena(model, {});
  arena.groups()[0].gradients[0] = 3;
  arena.groups()[1].gradients[0] = 4;
  CHECK(arena.gradient_norm().item<float>() == 5);
}

TEST_CASE("a parameter registered twice is in the arena once") {
  TiedModel model;
  model.register_module("again", model.wte);
  const ParameterArena arena(model, {});
  CHECK(names(arena.groups()[0]) == std::vector<std::string>{"wte.weight", "linear.weight"});
}

TEST_CASE("restoring a snapshot leaves no trace of the steps in between") {
  TiedModel model;
  ParameterArena arena(model, {});
  const auto engine = make_engine("auto", model, arena, {});
  const std::vector<WindowBatch> batches{formula_batch(0, 2, 3, 7)};
  const ArenaSnapshot before = arena.snapshot();
  make_step(*engine, arena, {}, 1, {.step = 0, .seed = 1, .micro_batches = batches});
  CHECK_FALSE(torch::equal(arena.groups()[0].values, before.values[0]));
  arena.restore(before);
  CHECK(torch::equal(arena.groups()[0].values, before.values[0]));
  CHECK_FALSE(arena.groups()[0].moment1.defined());
  CHECK(arena.updates() == 0);
}

TEST_CASE("weights and moments written and read back are the same bits") {
  TiedModel model, other;
  ParameterArena arena(model, {}), again(other, {});
  const auto engine = make_engine("auto", model, arena, {});
  const std::vector<WindowBatch> batches{formula_batch(0, 2, 3, 7)};
  for (int step = 0; step < 3; ++step)
    make_step(*engine, arena, {}, 1, {.step = step, .seed = 1, .micro_batches = batches});

  std::vector<torch::Tensor> storage;
  const std::string weights = file_of(arena.model_tensors(storage)),
                    moments = file_of(arena.optimizer_tensors(storage));
  again.load_model(parsed(weights), "weights");
  again.load_optimizer(parsed(moments), "moments");
  for (std::size_t i = 0; i < arena.groups().size(); ++i) {
    CHECK(torch::equal(arena.groups()[i].values, again.groups()[i].values));
    CHECK(torch::equal(arena.groups()[i].moment1, again.groups()[i].moment1));
    CHECK(torch::equal(arena.groups()[i].moment2, again.groups()[i].moment2));
  }
  CHECK(again.updates() == 3);
}

TEST_CASE("a checkpoint names what nanoGPT's state_dict would, and moments beside it") {
  TiedModel model;
  const ParameterArena arena(model, {});
  std::vector<torch::Tensor> storage;
  CHECK(arena.model_tensors(storage)[0].name == "wte.weight");
  CHECK(arena.model_tensors(storage)[0].shape == std::vector<std::int64_t>{7, 5});
  const std::vector<TensorView> moments = arena.optimizer_tensors(storage);
  CHECK(moments.size() == 11);
  CHECK(moments[0].name == "moment1/wte.weight");
  CHECK(moments.back().name == "step");
  CHECK(moments.back().dtype == "I64");
}

TEST_CASE("weights of another model are refused by name, shape and dtype") {
  TiedModel model;
  ParameterArena arena(model, {});
  std::vector<torch::Tensor> storage;
  std::vector<TensorView> tensors = arena.model_tensors(storage);
  const auto refusal = [&] {
    const std::string file = file_of(tensors);
    return message_of([&] { arena.load_model(parsed(file), "run/model.safetensors"); });
  };
  CHECK(refusal() == "");
  tensors[0].name = "transformer.wte.weight";
  CHECK(refusal() == "run/model.safetensors has no tensor wte.weight (F32 (7, 5)); it belongs to another model");
  tensors[0].name = "wte.weight";
  tensors[0].shape = {5, 7};
  CHECK(refusal() ==
        "run/model.safetensors: tensor wte.weight is F32 (5, 7) and should be F32 (7, 5); it belongs to another model");
  tensors[0].shape = {7, 5};
  TensorView surplus = tensors[0];
  surplus.name = "wpe.weight";
  tensors.push_back(surplus);
  CHECK(refusal() ==
        "run/model.safetensors has a tensor that this model has not: wpe.weight; it belongs to another model");
}
