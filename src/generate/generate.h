// Continues prompts, one token at a time. Knows no text: ids in, ids out through a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "config/config.h"
#include "inference/model.h"

namespace chargpt {

/// Called for each new token of sample `index` (0-based) in order of generation; returning false ends that sample.
using TokenCallback = std::function<bool(std::int64_t index, std::int64_t id)>;
/// Called with the logits (V) that the next token of sample `index` will be drawn from, before anything is filtered.
using LogitsCallback = std::function<void(std::int64_t index, std::span<const float> logits)>;

/// What a sequence of block_size tokens loses when it grows.
/// full: its first token, as in nanoGPT; what is left is run again from position 0 for each character.
/// half: its first half, which is run again, and the next tokens are appended: every character is written with
/// block_size / 2 to block_size tokens of context, many times faster.
/// slide: its first token's keys and values alone; nothing is run again. Every token sees the block_size last ones, as
/// those saw theirs: for models that can_slide().
/// automatic: slide where the model can, else half, or full where block_size is less than 32.
enum class Context { automatic, full, half, slide };

/// What `context` means for a model: never automatic. Error usage for Context::slide with one that cannot.
Context context_of(const ModelConfig& config, Context context);

/// Of block_size tokens, the last that stay when one more comes; all of them: nothing is run again. Not for automatic.
std::int64_t kept_tokens(Context context, std::int64_t block_size);

/// Samples of `floats` floats each that fit the memory that decoding may take, a quarter of a gigabyte; at least 1.
std::int64_t samples_at_once(double floats);

/// Where logits come from: a batch of sequences that grow in lockstep.
class NextLogits {
 public:
  struct Rows {
    float* first;         ///< of the last position of every sequence: (B, V), to be used up
    std::int64_t stride;  ///< from row to row
  };
  NextLogits() = default;
  virtual ~NextLogits() = default;
  NextLogits(const NextLogits&) = delete;
  NextLogits& operator=(const NextLogits&) = delete;
  /// `sequences` equal ones, of 1 to block_size ids.
  virtual Rows start(std::span<const std::int64_t> window, std::int64_t sequences) = 0;
  /// Goes on with these rows of the batch, in ascending order, each grown by its id.
  virtual Rows append(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) = 0;
  /// Sequences that memory allows in one batch.
  virtual std::int64_t at_once() const = 0;
};

struct DecodeOptions {
  Context context = Context::automatic;
  Storage storage = Storage::float32;  ///< bfloat16: matrices, which must be rounded, are kept in half the memory
  bool rerun = false;  ///< every position again for each token, unless they slide: the same text, more slowly
  int threads = 1;
};

/// By the decoder on the weights of `model`, which must stay where they are. Error usage for a context that it cannot
/// have.
std::unique_ptr<NextLogits> next_logits(const InferenceModel& model, const DecodeOptions& options);

/// Continues `prompt` (at least one id) num_samples times as one batch, as the samples from `first_sample` on; sample i
/// draws from stream (seed, i), whatever num_samples is. Of a prompt longer than block_size the last block_size tokens
/// count. Samples that do not fit in one batch are decoded in several, one after the other. Errors: internal for an
/// empty prompt or an id the model does not have; diverged for logits that are not numbers.
void generate(NextLogits& logits, std::int64_t vocab_size, std::int64_t block_size,
              const std::vector<std::int64_t>& prompt, const SampleConfig& sample, std::uint64_t seed,
              const TokenCallback& on_token, const LogitsCallback& on_logits = {}, std::int64_t first_sample = 0);

}  // namespace chargpt
