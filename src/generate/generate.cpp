// Decoding: a batch of samples of one prompt, in lockstep.
#include "generate/generate.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "generate/filters.h"

namespace chargpt {
namespace {

torch::Device device_of(const LanguageModel& model) {
  const auto parameters = model.parameters();
  return parameters.empty() ? torch::Device(torch::kCPU) : parameters.front().device();
}

void check_prompt(const std::vector<std::int64_t>& prompt, std::int64_t vocab_size) {
  if (prompt.empty()) throw Error(ExitCode::internal, "a prompt needs at least one id");
  const auto bad =
      std::find_if(prompt.begin(), prompt.end(), [&](std::int64_t id) { return id < 0 || id >= vocab_size; });
  if (bad != prompt.end())
    throw Error(ExitCode::internal, "the prompt has id " + std::to_string(*bad) + "; the model has ids 0 to " +
                                        std::to_string(vocab_size - 1));
}

/// The last block_size tokens of the prompt, once for each sample.
torch::Tensor first_window(const std::vector<std::int64_t>& prompt, std::int64_t block_size, std::int64_t samples) {
  const std::int64_t length = std::min<std::int64_t>(std::ssize(prompt), block_size);
  return torch::tensor(torch::ArrayRef<std::int64_t>(prompt).slice(prompt.size() - static_cast<std::size_t>(length)))
      .expand({samples, length});  // (B, T)
}

/// Samples whose keys, values and activations of a whole window fit the memory that decoding may take.
std::int64_t samples_at_once(const LanguageModel& model) {
  constexpr double budget = 256 << 20;
  const ModelConfig& config = model.config();
  const double per_token = static_cast<double>(model.vocab_size()) + 2.0 * config.n_layer * config.n_embd +
                           12.0 * config.n_embd + 1.0 * config.n_head * config.block_size;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(budget / (sizeof(float) * per_token * config.block_size)));
}

/// Samples first .. first + count - 1 of one prompt.
class Decoder {
 public:
  Decoder(LanguageModel& model, const SampleConfig& sample, std::uint64_t seed, bool use_cache, torch::Tensor window,
          std::int64_t first)
      : model_(model), sample_(sample), device_(device_of(model)), window_(std::move(window)) {
    if (use_cache && model.has_cache()) cache_.emplace();
    for (std::int64_t i = first; i < first + window_.size(0); ++i)
      samples_.push_back({i, RandomStream(seed, Purpose::sampling, static_cast<std::uint64_t>(i))});
  }

  void run(const TokenCallback& on_token) {
    for (std::int64_t token = 0; token < sample_.tokens && !samples_.empty(); ++token) {
      const torch::Tensor ids = draw_next(last_logits());
      keep_going(report(ids, on_token), ids);
    }
  }

 private:
  struct Sample {
    std::int64_t index;
    RandomStream random;
  };

  /// Logits of the last position of every sample, on the CPU: (B, V).
  torch::Tensor last_logits() {
    const std::int64_t length = window_.size(1);
    if (cache_ && cache_->length >= length) cache_.reset();  // the window has begun to slide: every position changes
    ForwardContext context;
    if (cache_) context.cache = &*cache_;
    const torch::Tensor ids = window_.narrow(1, cache_ ? cache_->length : 0, length - (cache_ ? cache_->length : 0));
    const torch::Tensor logits = model_.forward(ids.to(device_), context);  // (B, T) -> (B, T, V)
    return logits.select(1, -1).to(torch::kCPU, torch::kFloat32, /*non_blocking=*/false, /*copy=*/true).contiguous();
  }

  /// One id for each sample from its row of logits (B, V), which is used up: (B, 1).
  torch::Tensor draw_next(const torch::Tensor& logits) {
    torch::Tensor ids = torch::empty({logits.size(0), 1}, torch::kInt64);
    const auto V = static_cast<std::size_t>(logits.size(1));
    for (std::size_t row = 0; row < samples_.size(); ++row)
      ids.data_ptr<std::int64_t>()[row] =
          choose({logits.data_ptr<float>() + row * V, V}, sample_, samples_[row].random);
    return ids;
  }

  /// Rows of the samples that go on.
  std::vector<std::int64_t> report(const torch::Tensor& ids, const TokenCallback& on_token) const {
    std::vector<std::int64_t> rows;
    for (std::size_t row = 0; row < samples_.size(); ++row)
      if (on_token(samples_[row].index, ids.data_ptr<std::int64_t>()[row]))
        rows.push_back(static_cast<std::int64_t>(row));
    return rows;
  }

  /// Appends the new ids (B, 1) and drops the samples that have ended.
  void keep_going(const std::vector<std::int64_t>& rows, const torch::Tensor& ids) {
    window_ = torch::cat({window_, ids}, 1);
    window_ = window_.narrow(1, std::max<std::int64_t>(0, window_.size(1) - model_.block_size()),
                             std::min(window_.size(1), model_.block_size()));
    if (rows.size() == samples_.size()) return;
    const torch::Tensor kept = torch::tensor(rows, torch::kInt64);
    window_ = window_.index_select(0, kept);
    if (cache_) cache_->keep_rows(kept.to(device_));
    std::vector<Sample> going_on;
    for (const std::int64_t row : rows) going_on.push_back(samples_[static_cast<std::size_t>(row)]);
    samples_ = std::move(going_on);
  }

  LanguageModel& model_;
  const SampleConfig& sample_;
  torch::Device device_;
  torch::Tensor window_;  ///< (B, T) the last tokens of each sample, at most block_size
  std::optional<KeyValueCache> cache_;
  std::vector<Sample> samples_;
};

}  // namespace

void generate(LanguageModel& model, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, bool use_cache) {
  check_prompt(prompt, model.vocab_size());
  const torch::NoGradGuard no_grad;
  const std::int64_t at_once = samples_at_once(model);
  for (std::int64_t first = 0; first < sample.num_samples; first += at_once) {
    const std::int64_t count = std::min(at_once, sample.num_samples - first);
    Decoder(model, sample, seed, use_cache, first_window(prompt, model.block_size(), count), first).run(on_token);
  }
}

}  // namespace chargpt
