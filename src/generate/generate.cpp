// Decoding: a batch of samples of one prompt, in lockstep.
#include "generate/generate.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/random.h"
#include "generate/filters.h"
#include "inference/model.h"

namespace chargpt {
namespace {

/// A batch of samples of one prompt. Nothing is allocated after the first token.
class Samples {
 public:
  Samples(Predictor& predictor, const SampleConfig& sample, std::uint64_t seed, const LogitsCallback& on_logits)
      : predictor_(predictor),
        on_logits_(on_logits),
        tokens_(sample.tokens),
        seed_(seed),
        vocab_size_(static_cast<std::size_t>(predictor.vocab_size())),
        sampler_(sample, predictor.vocab_size()) {}

  /// Samples first .. first + count - 1.
  void run(std::span<const std::int64_t> prompt, std::int64_t first, std::int64_t count,
           const TokenCallback& on_token) {
    samples_.clear();
    for (std::int64_t i = first; i < first + count; ++i)
      samples_.push_back({i, RandomStream(seed_, Purpose::sampling, static_cast<std::uint64_t>(i))});
    rows_.resize(samples_.size());
    ids_.resize(samples_.size());
    Predictor::Rows rows = predictor_.start(prompt, count);
    for (std::int64_t token = 1;; ++token) {
      const std::size_t left = draw(rows, on_token);
      if (left == 0 || token == tokens_) return;
      rows = predictor_.advance(std::span(rows_).first(left), std::span(ids_).first(left));
    }
  }

 private:
  struct Sample {
    std::int64_t index;
    RandomStream random;
  };

  /// One more id for each sample. How many go on: their rows and ids are the first of rows_ and ids_, they themselves
  /// the first of samples_.
  std::size_t draw(const Predictor::Rows& logits, const TokenCallback& on_token) {
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

  Predictor& predictor_;
  const LogitsCallback& on_logits_;
  std::int64_t tokens_;
  std::uint64_t seed_;
  std::size_t vocab_size_;
  Sampler sampler_;
  std::vector<Sample> samples_;
  std::vector<std::int64_t> rows_, ids_;
};

}  // namespace

void generate(Predictor& predictor, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, const LogitsCallback& on_logits,
              std::int64_t first_sample) {
  if (prompt.empty()) throw Error(ExitCode::internal, "a prompt needs at least one id");
  check_ids(prompt, predictor.vocab_size(), "the prompt");
  if (sample.tokens == 0) return;
  Samples samples(predictor, sample, seed, on_logits);
  const std::int64_t at_once = predictor.at_once();
  for (std::int64_t first = 0; first < sample.num_samples; first += at_once)
    samples.run(prompt, first_sample + first, std::min(at_once, sample.num_samples - first), on_token);
}

}  // namespace chargpt
