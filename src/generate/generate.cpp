// Decoding: a batch of samples of one prompt, in lockstep.
#include "generate/generate.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "generate/filters.h"
#include "inference/decoder.h"
#include "inference/model_types.h"
#include "inference/sequence_cache.h"
#include "kernels/kernels.h"

namespace chargpt {
namespace {

void check_prompt(const std::vector<std::int64_t>& prompt, std::int64_t vocab_size) {
  if (prompt.empty()) throw Error(ExitCode::internal, "a prompt needs at least one id");
  check_ids(prompt, vocab_size, "the prompt");
}

/// The last block_size tokens of the prompt.
std::span<const std::int64_t> first_window(const std::vector<std::int64_t>& prompt, std::int64_t block_size) {
  const auto length = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(prompt), block_size));
  return std::span(prompt).last(length);
}

class DecodedLogits : public NextLogits {
 public:
  DecodedLogits(const InferenceModel& model, const DecodeOptions& options)
      : kept_(kept_tokens(context_of(model.config(), options.context), model.block_size())),
        decoder_(model.plan(), model.values(), cpu::kernels(), options.threads, options.storage == Storage::bfloat16),
        rerun_(options.rerun) {}

  Rows start(std::span<const std::int64_t> window, std::int64_t sequences) override {
    return {decoder_.start(window, sequences), decoder_.stride()};
  }
  Rows append(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override {
    decoder_.keep(rows);
    return {decoder_.append(ids, kept_, rerun_), decoder_.stride()};
  }
  std::int64_t at_once() const override {
    return samples_at_once(static_cast<double>(cpu::SequenceCache::floats(decoder_.plan(), cpu::kernels())));
  }

 private:
  std::int64_t kept_;
  cpu::Decoder decoder_;
  bool rerun_;
};

/// A batch of samples of one prompt. Nothing is allocated after the first token.
class Samples {
 public:
  Samples(NextLogits& logits, const SampleConfig& sample, std::uint64_t seed, std::int64_t vocab_size,
          const LogitsCallback& on_logits)
      : logits_(logits),
        on_logits_(on_logits),
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
    NextLogits::Rows rows = logits_.start(window, count);
    for (std::int64_t token = 1;; ++token) {
      const std::size_t left = draw(rows, on_token);
      if (left == 0 || token == tokens_) return;
      rows = logits_.append(std::span(rows_).first(left), std::span(ids_).first(left));
    }
  }

 private:
  struct Sample {
    std::int64_t index;
    RandomStream random;
  };

  /// One more id for each sample. How many go on: their rows and ids are the first of rows_ and ids_, they themselves
  /// the first of samples_.
  std::size_t draw(const NextLogits::Rows& logits, const TokenCallback& on_token) {
    for (std::size_t row = 0; row < samples_.size(); ++row) {
      const std::span of_row(logits.first + static_cast<std::int64_t>(row) * logits.stride, vocab_size_);
      if (on_logits_) on_logits_(samples_[row].index, of_row);
      ids_[row] = sampler_.choose(of_row, samples_[row].random);
    }
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

  NextLogits& logits_;
  const LogitsCallback& on_logits_;
  std::int64_t tokens_;
  std::uint64_t seed_;
  std::size_t vocab_size_;
  Sampler sampler_;
  std::vector<Sample> samples_;
  std::vector<std::int64_t> rows_, ids_;
};

}  // namespace

std::int64_t kept_tokens(Context context, std::int64_t block_size) {
  if (context == Context::slide) return block_size;
  return context == Context::full ? block_size - 1 : block_size / 2;
}

std::int64_t samples_at_once(double floats) {
  constexpr double budget = 256 << 20;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(budget / (sizeof(float) * floats)));
}

Context context_of(const ModelConfig& config, Context context) {
  constexpr std::int64_t short_window = 32;  // which costs little to run again
  if (context == Context::automatic)
    return can_slide(config) ? Context::slide : config.block_size < short_window ? Context::full : Context::half;
  if (context == Context::slide && !can_slide(config))
    throw Error(
        ExitCode::usage,
        "a sliding context needs model.position rope or none, which tell positions apart by distance alone; this "
        "model has " +
            std::string(enum_name(config.position)) + ": choose full or half");
  return context;
}

std::unique_ptr<NextLogits> next_logits(const InferenceModel& model, const DecodeOptions& options) {
  return std::make_unique<DecodedLogits>(model, options);
}

void generate(NextLogits& logits, std::int64_t vocab_size, std::int64_t block_size,
              const std::vector<std::int64_t>& prompt, const SampleConfig& sample, std::uint64_t seed,
              const TokenCallback& on_token, const LogitsCallback& on_logits, std::int64_t first_sample) {
  check_prompt(prompt, vocab_size);
  if (sample.tokens == 0) return;
  Samples samples(logits, sample, seed, vocab_size, on_logits);
  const std::int64_t at_once = logits.at_once();
  for (std::int64_t first = 0; first < sample.num_samples; first += at_once)
    samples.run(first_window(prompt, block_size), first_sample + first, std::min(at_once, sample.num_samples - first),
                on_token);
}

}  // namespace chargpt
