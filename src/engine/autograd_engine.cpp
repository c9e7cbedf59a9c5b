#include "engine/autograd_engine.h"

#include <algorithm>
#include <cmath>

#include "engine/module_loss.h"
#include "engine/precision.h"
#include "model/dropout.h"
#include "model/one_order.h"

namespace chargpt {
namespace {

class AutogradEngine : public Engine {
 public:
  AutogradEngine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train, std::string notice)
      : model_(model),
        arena_(arena),
        dtype_(train.dtype),
        device_(device_of(arena)),
        notice_(std::move(notice)),
        ordered_(device_) {}

  std::string_view name() const override { return "autograd"; }
  std::string notice() const override { return notice_; }
  std::string take_notice() override { return ordered_.take_notice(); }

  Gradients gradients(const GradientInput& input) override {
    const PrecisionScope precision(device_, dtype_);
    const torch::Tensor loss = ordered_.run([&] {
      arena_.zero_gradients();
      return accumulate_gradients(input);
    });
    arena_.collect_row_gradients();
    return read_gradients(loss, arena_.gradient_norm(), arena_.row_gradient_norm());
  }

  void score(const WindowBatch& windows, std::span<float> losses) override {
    const torch::NoGradGuard no_grad;
    const PrecisionScope precision(device_, Dtype::float32);
    const torch::Tensor all = loss_of(windows, {}, at::Reduction::None).cpu();  // (B*T)
    std::copy_n(all.const_data_ptr<float>(), losses.size(), losses.begin());
  }

 private:
  /// Adds the gradient of the mean loss over all micro-batches; returns that mean, a 0-d tensor on the device.
  torch::Tensor accumulate_gradients(const GradientInput& input) {
    const double share = 1.0 / static_cast<double>(input.micro_batches.size());
    torch::Tensor total = torch::zeros({}, torch::TensorOptions().dtype(torch::kFloat32).device(device_));
    DropoutKey key{.seed = input.seed, .step = input.step, .micro_batch = 0, .first_window = input.share.first};
    for (const WindowBatch& windows : input.micro_batches) {
      if (input.heartbeat) input.heartbeat(key.micro_batch * share);
      const double part =
          input.share.all > 0 ? static_cast<double>(windows.B()) / static_cast<double>(input.share.all) : 1;
      seed_dropout(device_, key);
      const torch::Tensor loss = loss_of(windows, {.dropout = &key}, at::Reduction::Mean) * (share * part);
      if (loss.requires_grad()) loss.backward();
      total += loss.detach();
      ++key.micro_batch;
    }
    return total;
  }

  torch::Tensor loss_of(const WindowBatch& windows, const ForwardContext& context, at::Reduction::Reduction reduction) {
    const torch::Tensor ids = on_device(windows);  // (2, B, T)
    return cross_entropy(model_, ids[0], ids[1], context, reduction);
  }

  /// Inputs and targets. In page-locked memory first where there is a GPU, so that the copy overlaps with what the GPU
  /// is doing.
  torch::Tensor on_device(const WindowBatch& windows) const {
    const auto options = torch::TensorOptions().dtype(torch::kInt64).pinned_memory(device_.is_cuda());
    const torch::Tensor ids = torch::empty({2, windows.B(), windows.T}, options);
    windows.copy_inputs(ids.mutable_data_ptr<std::int64_t>());
    windows.copy_targets(ids.mutable_data_ptr<std::int64_t>() + windows.numel());
    return ids.to(device_, /*non_blocking=*/true);
  }

  LanguageModel& model_;
  ParameterArena& arena_;
  Dtype dtype_;
  torch::Device device_;
  std::string notice_;
  OrderedWork ordered_;
};

}  // namespace

std::unique_ptr<Engine> make_autograd_engine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train,
                                             const std::string& notice) {
  return std::make_unique<AutogradEngine>(model, arena, train, notice);
}

}  // namespace chargpt
