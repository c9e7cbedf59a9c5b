#include "engine/module_decoding.h"

#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace chargpt {
namespace {

torch::Device device_of(const LanguageModel& model) {
  const auto parameters = model.parameters();
  return parameters.empty() ? torch::Device(torch::kCPU) : parameters.front().device();
}

class ModuleLogits : public NextLogits {
 public:
  ModuleLogits(LanguageModel& model, const ModuleDecodeOptions& options)
      : model_(model),
        device_(device_of(model)),
        use_cache_(options.decoding != Decoding::uncached && model.has_cache()),
        kept_(kept_tokens(context_of(model.config(), options.context), model.block_size())) {}

  Rows start(std::span<const std::int64_t> window, std::int64_t samples) override {
    window_ = torch::tensor(torch::ArrayRef<std::int64_t>(window.data(), window.size())).expand({samples, -1});
    cache_.reset();
    if (use_cache_) cache_.emplace();
    return last_logits();
  }

  Rows append(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override {
    if (std::ssize(rows) != window_.size(0)) keep_rows(torch::tensor(torch::ArrayRef(rows.data(), rows.size())));
    if (window_.size(1) == model_.block_size() && !slides()) {  // every position changes
      window_ = window_.narrow(1, window_.size(1) - kept_, kept_);
      if (cache_) cache_.emplace();
    }
    window_ = torch::cat({window_, torch::tensor(torch::ArrayRef(ids.data(), ids.size())).unsqueeze(1)}, 1);
    return last_logits();
  }

  std::int64_t at_once() const override {
    const ModelConfig& config = model_.config();
    const double per_token = static_cast<double>(model_.vocab_size()) + 2.0 * config.n_layer * config.n_embd +
                             12.0 * config.n_embd + 1.0 * config.n_head * config.block_size;
    return samples_at_once(per_token * config.block_size);
  }

 private:
  bool slides() const { return kept_ == model_.block_size(); }

  void keep_rows(const torch::Tensor& rows) {
    window_ = window_.index_select(0, rows);
    if (cache_) cache_->keep_rows(rows.to(device_));
  }

  Rows last_logits() {
    const std::int64_t known = cache_ ? cache_->length : 0;
    ForwardContext context;
    if (cache_) context.cache = &*cache_;
    if (slides()) context.window = model_.block_size();
    const torch::Tensor ids = window_.narrow(1, known, window_.size(1) - known);
    const torch::Tensor logits = model_.forward(ids.to(device_), context);  // (B, T) -> (B, T, V)
    logits_ = logits.select(1, -1).to(torch::kCPU, torch::kFloat32, /*non_blocking=*/false, /*copy=*/true).contiguous();
    return {logits_.mutable_data_ptr<float>(), logits_.size(1)};
  }

  LanguageModel& model_;
  torch::Device device_;
  bool use_cache_;
  std::int64_t kept_;
  torch::Tensor window_;  ///< (B, T) the last tokens of each sample, at most block_size; all of them where they slide
  std::optional<KeyValueCache> cache_;
  torch::Tensor logits_;  ///< (B, V)
};

}  // namespace

InferenceModel inference_of(const LanguageModel& model) {
  const auto parameters = model.named_parameters();
  const auto values = [&parameters](const std::string& name, const std::vector<std::int64_t>& shape) -> const float* {
    const torch::Tensor* const tensor = parameters.find(name);
    if (tensor == nullptr || tensor->sizes() != shape) return nullptr;
    if (!tensor->is_cpu() || tensor->scalar_type() != torch::kFloat32 || !tensor->is_contiguous())
      throw Error(ExitCode::internal, name + " is not float32 in the CPU's memory");
    return tensor->const_data_ptr<float>();
  };
  return InferenceModel(model.config(), model.vocab_size(), values);
}

std::unique_ptr<NextLogits> next_logits(LanguageModel& model, const ModuleDecodeOptions& options) {
  const bool computes_itself = model.parameters().empty();
  if (options.decoding == Decoding::fast && !computes_itself && device_of(model).is_cpu())
    return next_logits(inference_of(model), {.context = options.context, .threads = at::get_num_threads()});
  return std::make_unique<ModuleLogits>(model, options);
}

void generate(LanguageModel& model, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, const ModuleDecodeOptions& options) {
  const torch::NoGradGuard no_grad;
  generate(*next_logits(model, options), model.vocab_size(), model.block_size(), prompt, sample, seed, on_token);
}

void round_matrices(LanguageModel& model, Storage storage) {
  if (storage == Storage::float32) return;
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model.parameters())
    if (parameter.dim() >= 2) parameter.copy_(parameter.to(torch::kBFloat16));
}

}  // namespace chargpt
