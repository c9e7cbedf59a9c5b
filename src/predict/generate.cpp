#include "predict/generate.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/part.h"
#include "base/random.h"
#include "kernels/thread_team.h"
#include "network/model.h"
#include "predict/filters.h"

namespace chargpt {
namespace {

/// A batch of samples of one prompt. Does not allocate after the first token.
struct Samples {
  /// Generates samples first to first + count - 1.
  void run(std::span<const std::int64_t> prompt, std::int64_t first, std::int64_t count) {
    samples.clear();
    for (std::int64_t i = first; i < first + count; ++i)
      samples.push_back({i, RandomStream(seed, Purpose::sampling, static_cast<std::uint64_t>(i))});
    rows.resize(samples.size());
    ids.resize(samples.size());
    Predictor::Rows logits = predictor.start(prompt, count);
    for (std::int64_t token = 1;; ++token) {
      const std::size_t left = draw(logits);
      if (left == 0 || token == config.tokens) return;
      logits = predictor.advance(std::span(rows).first(left), std::span(ids).first(left));
    }
  }

  /// Draws one more id for each sample. Returns the number of samples that continue; moves them, their rows and their
  /// ids to the front of `samples`, `rows` and `ids`.
  std::size_t draw(const Predictor::Rows& logits) {
    const auto of_row = [&](std::size_t row) {
      return std::span(logits.first + static_cast<std::int64_t>(row) * logits.stride,
                       static_cast<std::size_t>(predictor.vocab_size()));
    };
    const int threads = std::min(predictor.threads(), static_cast<int>(samples.size()));  // one row wakes no thread
    cpu::on_threads(threads, [&](int thread) {
      const Part part = part_of(std::ssize(samples), threads, thread);
      for (auto row = static_cast<std::size_t>(part.begin); row < static_cast<std::size_t>(part.begin + part.size);
           ++row)
        ids[row] = samplers[static_cast<std::size_t>(thread)].choose(of_row(row), samples[row].random);
    });
    std::size_t left = 0;
    for (std::size_t row = 0; row < samples.size(); ++row) {
      if (!on_token(samples[row].index, ids[row])) continue;
      rows[left] = static_cast<std::int64_t>(row);
      ids[left] = ids[row];
      samples[left++] = samples[row];
    }
    samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(left), samples.end());
    return left;
  }

  struct Sample {
    std::int64_t index;
    RandomStream random;
  };
  Predictor& predictor;
  const SampleConfig& config;
  std::uint64_t seed;
  const TokenCallback& on_token;
  std::vector<Sampler> samplers{static_cast<std::size_t>(predictor.threads()), Sampler(config, predictor.vocab_size())};
  std::vector<Sample> samples{};
  std::vector<std::int64_t> rows{}, ids{};
};

}  // namespace

void generate(Predictor& predictor, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, std::int64_t first_sample) {
  if (prompt.empty()) throw Error(ExitCode::internal, "a prompt needs at least one id");
  check_ids(prompt, predictor.vocab_size(), "the prompt");
  if (sample.tokens == 0) return;
  Samples samples{predictor, sample, seed, on_token};
  const std::int64_t at_once = predictor.at_once(), batches = (sample.num_samples + at_once - 1) / at_once;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const Part part = part_of(sample.num_samples, batches, batch);
    samples.run(prompt, first_sample + part.begin, part.size);
  }
}

}  // namespace chargpt
