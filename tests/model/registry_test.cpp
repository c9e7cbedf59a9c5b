// Properties that hold for every model of the registry. Listing a model tests it.
#include <torch/optim/adamw.h>

#include "variants.h"
//
#include "drawn.h"
#include "failure.h"

namespace chargpt {
namespace {

using torch::Tensor;

/// The line for people of a c10::Error.
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "nothing was refused";
}

TEST_CASE_METHOD(NoGradients, "logits are (B, T, V) and finite, from one token to block_size") {
  for (const auto& [name, config] : each_option()) {
    INFO(name);
    const auto model = make_model(config, test_vocab, 1);
    for (const std::int64_t T : {std::int64_t{1}, std::int64_t{5}, config.block_size}) {
      const Tensor logits = model->forward(some_ids(3, T));
      CHECK(logits.sizes() == torch::IntArrayRef({3, T, test_vocab}));
      CHECK(logits.isfinite().all().item<bool>());
    }
  }
}

TEST_CASE("more tokens than block_size, none at all, and a wrong kind of ids are refused") {
  for (const auto& [name, config] : types()) {
    INFO(name);
    const auto model = make_model(config, test_vocab, 1);
    CHECK(refusal([&] { model->forward(some_ids(2, 9)); }) ==
          "T = 9 tokens is more than model.block_size = 8; give at most the last 8 tokens");
    CHECK(refusal([&] { model->forward(at::zeros({2, 0}, at::kLong)); }) == "T = 0: a model needs at least one token");
    CHECK(refusal([&] { model->forward(at::zeros({2, 4})); }) == "ids must be int64, not Float");
    CHECK(refusal([&] { model->forward(at::zeros({4}, at::kLong)); }) == "ids must be (B, T), not of 1 dimensions");
  }
}

TEST_CASE_METHOD(NoGradients, "later tokens change no earlier logits, except in a model that says it leaks") {
  int leaking = 0;
  for (const auto& [name, config] : each_option()) {
    INFO(name);
    const auto model = make_model(config, test_vocab, 2);
    Tensor ids = some_ids(2, 8);
    const Tensor before = model->forward(ids);
    for (std::int64_t t = 1; t < 8; ++t) {
      Tensor changed = ids.clone();
      changed.narrow(1, t, 8 - t).add_(1).remainder_(test_vocab);
      const double earlier = largest_difference(model->forward(changed).narrow(1, 0, t), before.narrow(1, 0, t));
      if (leaks(model->config()))
        CHECK(earlier > 1e-4);
      else
        CHECK(earlier <= 1e-6);
    }
    leaking += leaks(model->config()) ? 1 : 0;
  }
  CHECK(leaking == 1);
}

TEST_CASE_METHOD(NoGradients, "with gpt2 initialisation the first loss is near ln V") {
  for (const auto& [name, config] : each_option()) {
    INFO(name);
    const auto model = make_model(config, test_vocab, 3);
    CHECK(mean_loss(model->forward(some_ids(8, 8)), some_ids(8, 8, 1)).item<double>() ==
          Approx(std::log(test_vocab)).margin(0.1));
  }
}

TEST_CASE_METHOD(OneThread, "every parameter gets a gradient") {
  for (const auto& [name, config] : each_option()) {
    const auto model = make_model(config, test_vocab, 4);
    mean_loss(model->forward(some_ids(4, 8)), some_ids(4, 8, 1)).backward();
    for (const auto& parameter : model->named_parameters()) {
      INFO(name << ": " << parameter.key());
      REQUIRE(parameter->grad().defined());
      CHECK(parameter->grad().abs().max().item<double>() > 0);
    }
  }
}

double loss_after_training(LanguageModel& model, const Tensor& x, const Tensor& y, int steps) {
  torch::optim::AdamW optimizer(model.parameters(), torch::optim::AdamWOptions(1e-2).weight_decay(0.0));
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    mean_loss(model.forward(x), y).backward();
    optimizer.step();
  }
  const torch::NoGradGuard no_grad;
  return mean_loss(model.forward(x), y).item<double>();
}

TEST_CASE_METHOD(OneThread, "every type learns which symbol follows which") {
  const Tensor x = at::arange(4).unsqueeze(1) + at::arange(8);  // row b counts from b
  for (const auto& [name, config] : types()) {
    INFO(name);
    const auto model = make_model(config, test_vocab, 5);
    CHECK(loss_after_training(*model, x, x + 1, 200) < 0.2);
  }
}

TEST_CASE_METHOD(OneThread, "attention and gpt memorize a batch, with any option") {
  std::vector<Variant> changes = single_changes();
  std::erase_if(changes, [](const Variant& change) { return change.config.type == "average"; });
  const unsigned seed = seed_of_this_time();
  std::ranges::shuffle(changes, std::mt19937(seed));
  changes.resize(12);
  for (const auto& [name, config] : changes) {
    INFO(name << ", CHARGPT_SEED=" << seed);
    const auto model = make_model(config, test_vocab, 6);
    CHECK(loss_after_training(*model, some_ids(4, 8), some_ids(4, 8, 1), 300) < 0.2);
  }
}

TEST_CASE("options that do not fit together are refused with what would") {
  const auto message = [](const ModelConfig& config) {
    return message_of(ExitCode::usage, [&] { check_model_config(config); });
  };
  CHECK_NOTHROW(check_model_config(ModelConfig{}));
  CHECK(message({.type = "gtp"}) ==
        "model.type = \"gtp\" is not one of bigram, average, masked, attention, gpt; did you mean gpt?");
  CHECK(message({.type = "lstm"}) == "model.type = \"lstm\" is not one of bigram, average, masked, attention, gpt");
  CHECK(message({.n_head = 5}) == "model.n_head = 5 does not divide model.n_embd = 128; 4 or 8 would");
  CHECK(message({.n_head = 200}) == "model.n_head = 200 does not divide model.n_embd = 128; 128 would");
  CHECK_NOTHROW(check_model_config({.type = "bigram", .n_head = 5}));
  CHECK_NOTHROW(check_model_config({.n_head = 5, .head_size = 16}));
  CHECK(
      message({.head_size = 16, .output_projection = false}) ==
      "model.output_projection = false, but 4 heads of model.head_size = 16 have width 64, not model.n_embd = 128; set "
      "output_projection to true, or head_size to 0");
  CHECK(
      message({.head_size = 3, .position = Position::rope}) ==
      "model.position = rope rotates pairs of features, but head_size is 3; make model.head_size (or n_embd / n_head) "
      "even");
  CHECK(message({.causal = false}) ==
        "model.causal = false needs model.type = average, not gpt; remove it, or set it to true");
  CHECK(message({.dropout_places = {Place::head}}) ==
        "model.dropout_places contains head; use only embedding, attention, attention_output, mlp");
  CHECK(message({.type = "masked", .conv_places = {Place::mlp}}) ==
        "model.conv_places needs model.type = gpt, not masked; remove it");
  CHECK(message({.conv_places = {Place::mlp, Place::norm}}) ==
        "model.conv_places contains norm; use only attention, mlp");
  CHECK(message({.feed_forward = false, .conv_places = {Place::mlp}}) ==
        "model.conv_places contains mlp, but model.feed_forward = false removes that layer; remove mlp");
  CHECK(message({.bias_places = {Place::embedding}}) ==
        "model.bias_places contains embedding; use only attention, attention_output, mlp, norm, head");
}

}  // namespace
}  // namespace chargpt
