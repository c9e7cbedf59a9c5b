// Decoding: a batch of samples of one prompt, in lockstep.
#include "generate/generate.h"

#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "compute/cpu/decoder.h"
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

/// The last block_size tokens of the prompt.
std::span<const std::int64_t> first_window(const std::vector<std::int64_t>& prompt, std::int64_t block_size) {
  const auto length = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(prompt), block_size));
  return std::span(prompt).last(length);
}

/// Of block_size tokens, the last that stay when one more comes; all of them: nothing is run again.
std::int64_t kept_tokens(Context context, std::int64_t block_size) {
  if (context == Context::slide) return block_size;
  return context == Context::full ? block_size - 1 : block_size / 2;
}

/// Samples of so many floats each that fit the memory that decoding may take.
std::int64_t samples_at_once(double floats) {
  constexpr double budget = 256 << 20;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(budget / (sizeof(float) * floats)));
}

/// Where logits come from: a batch of samples that grow in lockstep.
class Forward {
 public:
  struct Logits {
    float* first;         ///< of the last position of every sample: (B, V), to be used up
    std::int64_t stride;  ///< from row to row
  };
  Forward() = default;
  virtual ~Forward() = default;
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;
  /// `samples` equal ones.
  virtual Logits start(std::span<const std::int64_t> window, std::int64_t samples) = 0;
  /// Goes on with these rows of the batch, in ascending order, each grown by its id.
  virtual Logits append(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) = 0;
  virtual std::int64_t at_once() const = 0;
};

// ---- by the model's own forward

class ModelForward : public Forward {
 public:
  ModelForward(LanguageModel& model, const DecodeOptions& options)
      : model_(model),
        device_(device_of(model)),
        use_cache_(options.decoding != Decoding::uncached && model.has_cache()),
        kept_(kept_tokens(options.context, model.block_size())) {}

  Logits start(std::span<const std::int64_t> window, std::int64_t samples) override {
    window_ = torch::tensor(torch::ArrayRef<std::int64_t>(window.data(), window.size())).expand({samples, -1});
    cache_.reset();
    if (use_cache_) cache_.emplace();
    return last_logits();
  }

  Logits append(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override {
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

  Logits last_logits() {
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

// ---- on the raw weights

class RawForward : public Forward {
 public:
  RawForward(cpu::Plan plan, std::vector<const float*> values, const DecodeOptions& options)
      : kept_(kept_tokens(options.context, plan.block_size)),
        decoder_(std::move(plan), std::move(values), cpu::kernels(), at::get_num_threads(),
                 options.storage == Storage::bfloat16) {}

  Logits start(std::span<const std::int64_t> window, std::int64_t samples) override {
    return {decoder_.start(window, samples), decoder_.stride()};
  }
  Logits append(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override {
    decoder_.keep(rows);
    return {decoder_.append(ids, kept_), decoder_.stride()};
  }
  std::int64_t at_once() const override {
    return samples_at_once(static_cast<double>(cpu::Decoder::kept_floats(decoder_.plan(), cpu::kernels())));
  }

 private:
  std::int64_t kept_;
  cpu::Decoder decoder_;
};

std::unique_ptr<Forward> make_forward(LanguageModel& model, const DecodeOptions& options) {
  if (options.decoding == Decoding::fast) {
    std::vector<const float*> values;
    std::string why_not;
    if (auto plan = cpu::forward_plan_of(model, cpu::kernels(), values, why_not))
      return std::make_unique<RawForward>(std::move(*plan), std::move(values), options);
  }
  return std::make_unique<ModelForward>(model, options);
}

// ---- the loop

/// A batch of samples of one prompt. Nothing is allocated after the first token.
class Samples {
 public:
  Samples(Forward& forward, const SampleConfig& sample, std::uint64_t seed, std::int64_t vocab_size)
      : forward_(forward),
        tokens_(sample.tokens),
        seed_(seed),
        vocab_size_(static_cast<std::size_t>(vocab_size)),
        sampler_(sample, vocab_size) {}

  /// Samples first .. first + count - 1.
  void run(std::span<const std::int64_t> window, std::int64_t first, std::int64_t count,
           const TokenCallback& on_token) {
    samples_.clear();
    for (std::int64_t i = first; i < first + count; ++i)
      samples_.push_back({i, RandomStream(seed_, Purpose::sampling, static_cast<std::uint64_t>(i))});
    rows_.resize(samples_.size());
    ids_.resize(samples_.size());
    Forward::Logits logits = forward_.start(window, count);
    for (std::int64_t token = 1;; ++token) {
      const std::size_t left = draw(logits, on_token);
      if (left == 0 || token == tokens_) return;
      logits = forward_.append(std::span(rows_).first(left), std::span(ids_).first(left));
    }
  }

 private:
  struct Sample {
    std::int64_t index;
    RandomStream random;
  };

  /// One more id for each sample. How many go on: their rows and ids are the first of rows_ and ids_, they themselves
  /// the first of samples_.
  std::size_t draw(const Forward::Logits& logits, const TokenCallback& on_token) {
    for (std::size_t row = 0; row < samples_.size(); ++row)
      ids_[row] = sampler_.choose({logits.first + static_cast<std::int64_t>(row) * logits.stride, vocab_size_},
                                  samples_[row].random);
    std::size_t left = 0;
    for (std::size_t row = 0; row < samples_.size(); ++row) {
      if (!on_token(samples_[row].index, ids_[row])) continue;
      rows_[left] = static_cast<std::int64_t>(row);
      ids_[left] = ids_[row];
      samples_[left++] = samples_[row];
    }
    samples_.erase(samples_.begin() + static_cast<std::ptrdiff_t>(left), samples_.end());
    return left;
  }

  Forward& forward_;
  std::int64_t tokens_;
  std::uint64_t seed_;
  std::size_t vocab_size_;
  Sampler sampler_;
  std::vector<Sample> samples_;
  std::vector<std::int64_t> rows_, ids_;
};

}  // namespace

bool decodes_fast(const LanguageModel& model, std::string& why_not) {
  std::vector<const float*> values;
  return cpu::forward_plan_of(model, cpu::kernels(), values, why_not).has_value();
}

Context context_of(const LanguageModel& model, Context context) {
  if (context == Context::automatic) return model.can_slide() ? Context::slide : Context::full;
  if (context == Context::slide && !model.can_slide())
    throw Error(
        ExitCode::usage,
        "a sliding context needs model.position rope or none, which tell positions apart by distance alone; this "
        "model has " +
            std::string(enum_name(model.config().position)) + ": choose full or half");
  return context;
}

void generate(LanguageModel& model, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, const DecodeOptions& options) {
  check_prompt(prompt, model.vocab_size());
  if (sample.tokens == 0) return;
  const torch::NoGradGuard no_grad;
  DecodeOptions chosen = options;
  chosen.context = context_of(model, options.context);
  const std::unique_ptr<Forward> forward = make_forward(model, chosen);
  Samples samples(*forward, sample, seed, model.vocab_size());
  const std::int64_t at_once = forward->at_once();
  for (std::int64_t first = 0; first < sample.num_samples; first += at_once)
    samples.run(first_window(prompt, model.block_size()), first, std::min(at_once, sample.num_samples - first),
                on_token);
}

}  // namespace chargpt
