// The arena's fused update against torch::optim::AdamW and torch::nn::utils::clip_grad_norm_, which know nothing of it.
#include "optimizer/optimizer.h"

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include "base/error.h"
#include "engine/engine.h"
#include "tiny_model.h"

#include "learner/step.h"
#include "test.h"

using namespace chargpt;

namespace {

/// nanoGPT's step: mean loss, clip, AdamW with decay on matrices only.
class ReferenceTraining {
 public:
  ReferenceTraining(TiedModel& model, const TrainConfig& train) : model_(model), train_(train) {
    std::vector<torch::Tensor> matrices, vectors;
    for (torch::Tensor& parameter : model.parameters())
      (parameter.dim() >= 2 ? matrices : vectors).push_back(parameter);
    const auto options =
        torch::optim::AdamWOptions(train.learning_rate).betas({train.beta1, train.beta2}).eps(train.adam_eps);
    auto decay = std::make_unique<torch::optim::AdamWOptions>(options);
    auto no_decay = std::make_unique<torch::optim::AdamWOptions>(options);
    decay->weight_decay(train.weight_decay);
    no_decay->weight_decay(0);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(matrices, std::move(decay));
    groups.emplace_back(vectors, std::move(no_decay));
    optimizer_ = std::make_unique<torch::optim::AdamW>(std::move(groups), options);
  }

  /// Loss and norm before clipping.
  StepResult step(const WindowBatch& batch) {
    optimizer_->zero_grad();
    const torch::Tensor logits = model_.forward(inputs_of(batch));
    const torch::Tensor loss =
        at::cross_entropy_loss(logits.view({-1, model_.vocab_size()}), targets_of(batch).view(-1));
    loss.backward();
    const double norm = torch::nn::utils::clip_grad_norm_(model_.parameters(), train_.grad_clip);
    optimizer_->step();
    return {.loss = loss.item<double>(), .grad_norm = norm};
  }

 private:
  TiedModel& model_;
  TrainConfig train_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
};

}  // namespace

TEST_CASE("thirty clipped updates equal torch's AdamW and clip_grad_norm_") {
  TrainConfig train;
  train.learning_rate = 1e-2;
  train.weight_decay = 0.5;
  train.grad_clip = 0.5;
  TiedModel reference_model, model;
  ReferenceTraining reference(reference_model, train);
  ParameterArena arena(model, train);
  const auto engine = make_engine("autograd", model, arena, train);
  for (std::int64_t step = 0; step < 30; ++step) {
    const std::vector<WindowBatch> batches{formula_batch(step, 4, 6, 7)};
    const StepResult expected = reference.step(batches[0]);
    const StepResult result = make_step(*engine, arena, train, 1, {.step = step, .seed = 0, .micro_batches = batches});
    INFO("step " << step);
    CHECK(result.loss == Approx(expected.loss).margin(1e-6));
    CHECK(result.grad_norm == Approx(expected.grad_norm).epsilon(1e-5));
  }
  const auto expected = reference_model.named_parameters(), got = model.named_parameters();
  for (const auto& item : expected) {
    INFO(item.key());
    CHECK((item.value() - got[item.key()]).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("one update of one weight, by hand") {
  TiedModel model;
  TrainConfig train;
  train.learning_rate = 0.1;
  train.weight_decay = 0.5;
  ParameterArena arena(model, train);
  ParameterGroup& group = arena.groups()[0];
  group.values.fill_(1);
  group.gradients.fill_(-4);
  update(arena, {.lr_factor = 1, .gradient_scale = 0.25, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8});
  // decay: 1 - 0.1 * 0.5 = 0.95; bias-corrected first update: a step of the rate against the gradient's sign: 0.95 +
  // 0.1
  CHECK(group.values[0].item<float>() == Approx(1.05));
  CHECK(group.moment1[0].item<float>() == Approx(0.1 * -1));
  CHECK(group.moment2[0].item<float>() == Approx(0.01 * 1));
  CHECK(arena.updates() == 1);
}

TEST_CASE("a group's own rate follows the schedule's factor") {
  TiedModel model;
  TrainConfig train;
  train.groups = {{.match = "wte", .learning_rate = 10, .weight_decay = 0, .optimizer = UpdateRule::adamw}};
  ParameterArena arena(model, train);
  ParameterGroup& group = arena.groups()[0];
  group.values.zero_();
  group.gradients.fill_(1);
  update(arena, {.lr_factor = 0.5});
  CHECK(group.values[0].item<float>() == Approx(-5));
}

TEST_CASE("clipping multiplies by max_norm / (norm + 1e-6), never by more than 1") {
  CHECK(clipping_factor(4, 1) == Approx(0.25));
  CHECK(clipping_factor(0.5, 1) == 1);
  CHECK(clipping_factor(100, 0) == 1);
}
