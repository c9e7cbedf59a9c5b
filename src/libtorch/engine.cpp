#include "libtorch/engine.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/token_view.h"
#include "config/config.h"
#include "kernels/thread_team.h"
#include "libtorch/device_engine.h"
#include "libtorch/recorded_work.h"
#include "model/language_model.h"
#include "model/registry.h"

namespace chargpt {
namespace {

/// Sets the precision of matrix products in its scope: float32, TF32 (float32 on the CPU), or bfloat16 by autocast.
/// Weights stay float32.
class PrecisionScope {
 public:
  PrecisionScope(const torch::Device& device, Dtype dtype) : device_(device.type()) { set(dtype); }
  ~PrecisionScope() { set(Dtype::float32); }
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  void set(Dtype dtype) const {
    at::globalContext().setAllowTF32CuBLAS(dtype == Dtype::tf32);
    at::autocast::set_autocast_enabled(device_, dtype == Dtype::bfloat16);
    at::autocast::set_autocast_dtype(device_, torch::kBFloat16);
    // A cached bfloat16 copy of a weight would outlive the update of the weight.
    at::autocast::set_autocast_cache_enabled(false);
  }

  torch::DeviceType device_;
};

/// In its scope, a GPU uses deterministic algorithms for operations whose threads add in varying order (gradients of
/// embeddings, attention's backward pass), silently. If not `strict`, operations without such an algorithm run as they
/// are instead of throwing, and so do some that have one (LibTorch's memory-efficient attention).
class OneOrder : public c10::WarningHandler {
 public:
  explicit OneOrder(bool strict) { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/!strict); }
  ~OneOrder() override { at::globalContext().setDeterministicAlgorithms(false, /*warn_only=*/false); }
  void process(const c10::Warning& /*warning*/) override {}

 private:
  c10::WarningUtils::WarningHandlerGuard silent_{this};
};

/// Runs work in one order, strictly while that is possible. The CPU always does.
class OrderedWork {
 public:
  explicit OrderedWork(const torch::Device& device) : device_(device) {}

  /// `work` may be called twice.
  template <class Work>
  auto run(const Work& work) {
    if (device_.is_cpu()) return work();
    for (;;) try {
        const OneOrder one_order(strict_);
        return work();
      } catch (const std::exception& failure) {
        // LibTorch's messages: "… does not have a deterministic implementation", "Deterministic behavior was enabled …"
        const std::string what = failure.what();
        if (what.find("eterministic") == std::string::npos || !std::exchange(strict_, false)) throw;
        notice_ =
            "on " + device_.str() + " training of this model is not reproducible: " + what.substr(0, what.find('\n'));
      }
  }
  /// Returns and clears the pending notice, or "" if there is none.
  std::string take_notice() { return std::exchange(notice_, {}); }

 private:
  torch::Device device_;
  bool strict_ = true;
  std::string notice_;
};

class LibtorchEngine : public DeviceEngine {
 public:
  LibtorchEngine(std::shared_ptr<LanguageModel> model, const EngineRequest& request)
      : DeviceEngine(*model, request), dtype_(request.train.dtype), model_(std::move(model)), ordered_(device_) {}

  std::string_view name() const override { return "libtorch"; }
  std::string take_notice() override { return ordered_.take_notice(); }

  Gradients gradients(const GradientInput& input) override {
    const PrecisionScope precision(device_, dtype_);
    const torch::Tensor loss = ordered_.run([&] {
      gradients_.zero_();
      return accumulate_gradients(input);
    });
    if (device_.is_cpu()) return {.loss = loss.item<double>(), .norm = arena_.gradient_norm()};
    const torch::Tensor figures =
        at::stack({loss, at::linalg_vector_norm(gradients_)}).cpu();  // the only wait in a step
    return {.loss = figures[0].item<double>(), .norm = figures[1].item<double>()};
  }

  std::int64_t tokens_at_once() const override {
    return device_.is_cpu() ? WindowScorer::tokens_at_once()
                            : logits_at_once(tokens_scored_on_gpu, model_->vocab_size());
  }

  void score(const WindowBatch& windows, std::span<float> losses) override {
    if (device_.is_cpu()) return Engine::score(windows, losses);
    const torch::NoGradGuard no_grad;
    const PrecisionScope precision(device_, Dtype::float32);
    const torch::Tensor all =
        loss_of(output_of(windows, on_device(starts_of(windows)), {}), at::Reduction::None).cpu();  // (B*T)
    std::copy_n(all.const_data_ptr<float>(), losses.size(), losses.begin());
  }

  void update(const UpdateContext& context) override {
    const PrecisionScope precision(device_, dtype_);
    DeviceEngine::update(context);
  }
  void synchronize() override {
    if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
  }

 private:
  struct Output {
    torch::Tensor logits;   ///< (B*T, V) float32
    torch::Tensor targets;  ///< (B*T) int64
  };

  /// Adds the gradient of the mean loss over all targets that count; returns the loss, a 0-d tensor on the device.
  torch::Tensor accumulate_gradients(const GradientInput& input) {
    const double share = 1.0 / static_cast<double>(input.micro_batches.size());
    ForwardPass pass{.first_window = input.first_window};
    std::span<const float> q = input.soft.q;
    loss_.zero_();
    weight_.fill_(1.0 / static_cast<double>(input.tokens));
    for (std::size_t i = 0; i < input.micro_batches.size(); ++i) {
      const WindowBatch& windows = input.micro_batches[i];
      if (input.heartbeat) input.heartbeat(static_cast<double>(i) * share);
      pass.dropout_seed = dropout_seed(input, i);
      seed_dropout(device_, pass);
      if (q.empty() && can_be_recorded(windows)) {
        starts_.copy_(starts_of(windows), /*non_blocking=*/true);
        recorded_.run(device_, [&] { accumulate(output_of(windows, starts_, pass), {}, 0); });
      } else {
        const Output output = output_of(windows, on_device(starts_of(windows)), pass);
        const auto numel = q.empty() ? 0 : static_cast<std::size_t>(output.logits.numel());
        accumulate(output, q.first(numel), input.soft.weight);
        q = q.subspan(numel);
      }
    }
    return loss_;
  }

  /// True for windows on a GPU without documents. If their text, number or length changed, discards the recording.
  bool can_be_recorded(const WindowBatch& windows) {
    if (device_.is_cpu() || windows.tokens.document() != TokenView::no_document) return false;
    const std::tuple shape(windows.tokens.bytes().data(), windows.B(), windows.T);
    if (std::exchange(recorded_shape_, shape) != shape) {
      recorded_.forget();
      starts_ = torch::empty({windows.B()}, torch::TensorOptions().dtype(torch::kInt64).device(device_));
    }
    return true;
  }

  /// Adds a micro-batch's part of loss and gradients. q: its soft targets (B*T*V), or empty.
  void accumulate(const Output& output, std::span<const float> q, float soft_weight) {
    const torch::Tensor loss = loss_of(output, at::Reduction::Sum) * weight_;
    torch::Tensor objective = loss;
    if (!q.empty()) objective = loss * (1 - soft_weight) + soft_loss_of(output, q) * weight_ * soft_weight;
    if (objective.requires_grad()) objective.backward();
    loss_ += loss.detach();
  }

  Output output_of(const WindowBatch& windows, const torch::Tensor& starts, ForwardPass pass) {
    pass.document = windows.tokens.document();
    const torch::Tensor ids = ids_of(windows, starts);                               // (2, B, T)
    const torch::Tensor logits = model_->forward(ids[0], pass).to(torch::kFloat32);  // (B, T) -> (B, T, V)
    return {logits.view({-1, logits.size(-1)}), ids[1].reshape({-1})};
  }

  /// Cross-entropies in nats of the targets under the logits: (B*T), 0 if a target does not count; or their sum.
  static torch::Tensor loss_of(const Output& output, at::Reduction::Reduction reduction) {
    return at::cross_entropy_loss(output.logits, output.targets, {}, reduction, /*ignore_index=*/no_target);
  }

  /// Sum of the cross-entropies of the distributions q, (B*T, V), over targets that count.
  torch::Tensor soft_loss_of(const Output& output, std::span<const float> q) {
    void* const data = const_cast<float*>(q.data());  // NOLINT: it is only read
    const torch::Tensor soft = torch::from_blob(data, output.logits.sizes(), torch::kFloat32).to(device_);
    const torch::Tensor losses = -(soft * at::log_softmax(output.logits, -1)).sum(-1);  // (B*T, V) -> (B*T)
    return losses.masked_fill(output.targets == no_target, 0).sum();
  }

  /// (B) int64 on the host; for a GPU in pinned memory, so that the copy is asynchronous.
  torch::Tensor starts_of(const WindowBatch& windows) const {
    const torch::Tensor starts = torch::tensor(at::ArrayRef(windows.starts.data(), windows.starts.size()));
    return device_.is_cpu() ? starts : starts.pin_memory();
  }
  torch::Tensor on_device(const torch::Tensor& tensor) const { return tensor.to(device_, /*non_blocking=*/true); }

  /// Inputs and targets, int64, from the text on the device; targets that do not count are no_target.
  torch::Tensor ids_of(const WindowBatch& windows, const torch::Tensor& starts) {
    const torch::Tensor places = starts.unsqueeze(1) + torch::arange(windows.T + 1, starts.options());  // (B, T + 1)
    torch::Tensor ids = text(windows.tokens).index_select(0, places.view(-1)).to(torch::kInt64).view_as(places);
    if (windows.tokens.width() == 2) ids = ids.bitwise_and(0xFFFF);  // stored unsigned, read as signed
    torch::Tensor both = at::stack({ids.narrow(1, 0, windows.T), ids.narrow(1, 1, windows.T)});
    if (windows.tokens.document() == TokenView::no_document) return both;
    std::vector<std::int64_t> targets(static_cast<std::size_t>(windows.numel()));
    windows.copy_targets(targets.data());
    both[1].copy_(torch::tensor(targets).view_as(both[1]));
    return both;
  }

  /// The ids as stored, (n). On a GPU, copies each text on first use.
  torch::Tensor text(TokenView tokens) {
    void* const data = const_cast<std::byte*>(tokens.bytes().data());  // NOLINT: it is only read
    const auto type = tokens.width() == 1 ? torch::kUInt8 : tokens.width() == 2 ? torch::kInt16 : torch::kInt32;
    const torch::Tensor stored = torch::from_blob(data, {tokens.size()}, type);
    if (device_.is_cpu()) return stored;
    torch::Tensor& copy = copies_[{data, tokens.size()}];
    if (!copy.defined()) copy = stored.to(device_);
    return copy;
  }

  Dtype dtype_;
  std::shared_ptr<LanguageModel> model_;
  OrderedWork ordered_;
  torch::Tensor loss_ = torch::zeros({}, torch::TensorOptions().dtype(torch::kFloat32).device(device_));
  torch::Tensor weight_ = torch::zeros_like(loss_);  ///< weight of a target in the loss
  torch::Tensor starts_;                             ///< (B), starts of the windows of `recorded_`
  std::tuple<const std::byte*, std::int64_t, std::int64_t> recorded_shape_;
  RecordedWork recorded_;                                                 ///< of one micro-batch
  std::map<std::pair<const void*, std::int64_t>, torch::Tensor> copies_;  ///< of texts, on a GPU
};

}  // namespace

std::unique_ptr<Engine> make_libtorch_engine(std::shared_ptr<LanguageModel> model, const EngineRequest& request) {
  at::globalContext().setFlushDenormal(true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);  // it is always written before it is read
  cpu::set_threads_in_force(request.threads);  // the plug-in has its own copy of the core library
  at::set_num_threads(request.threads);
  at::parallel_for(0, at::get_num_threads(), 1, [](std::int64_t, std::int64_t) {});  // starts OpenMP's threads
#ifdef __GLIBC__
  // Every step frees and allocates the same tensors: the system would clear pages that were returned in between, which
  // takes 7 % of a step of ladder/post-norm.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  return std::make_unique<LibtorchEngine>(std::move(model), request);
}

std::unique_ptr<Engine> make_libtorch_engine(const EngineRequest& request) {
  return make_libtorch_engine(make_module(request.model, request.vocab_size), request);
}

}  // namespace chargpt
