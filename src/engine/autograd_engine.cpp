#include "engine/autograd_engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

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
    return read_gradients(loss, arena_.gradient_norm());
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
    const torch::Tensor ids = ids_of(windows);  // (2, B, T)
    return cross_entropy(model_, ids[0], ids[1], context, reduction);
  }

  /// Inputs and targets, int64, cut out of the text on the device.
  torch::Tensor ids_of(const WindowBatch& windows) {
    const torch::Tensor starts = torch::tensor(at::ArrayRef(windows.starts.data(), windows.starts.size())).to(device_);
    const torch::Tensor places = starts.unsqueeze(1) + torch::arange(windows.T + 1, starts.options());  // (B, T + 1)
    torch::Tensor ids = text(windows.tokens).index_select(0, places.view(-1)).to(torch::kInt64).view_as(places);
    if (windows.tokens.width() == 2) ids = ids.bitwise_and(0xFFFF);  // stored without a sign, read with one
    return at::stack({ids.narrow(1, 0, windows.T), ids.narrow(1, 1, windows.T)});
  }

  /// The ids as they are stored, (n). A GPU gets a copy when it first needs a text.
  torch::Tensor text(TokenView tokens) {
    void* const data = const_cast<std::byte*>(tokens.bytes().data());  // NOLINT: nobody writes to it
    const auto type = tokens.width() == 1 ? torch::kUInt8 : tokens.width() == 2 ? torch::kInt16 : torch::kInt32;
    const torch::Tensor stored = torch::from_blob(data, {tokens.size()}, type);
    if (device_.is_cpu()) return stored;
    torch::Tensor& copy = copies_[{data, tokens.size()}];
    if (!copy.defined()) copy = stored.to(device_);
    return copy;
  }

  LanguageModel& model_;
  ParameterArena& arena_;
  Dtype dtype_;
  torch::Device device_;
  std::string notice_;
  OrderedWork ordered_;
  std::map<std::pair<const void*, std::int64_t>, torch::Tensor> copies_;  ///< of texts, on a GPU
};

}  // namespace

std::unique_ptr<Engine> make_autograd_engine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train,
                                             const std::string& notice) {
  return std::make_unique<AutogradEngine>(model, arena, train, notice);
}

}  // namespace chargpt
