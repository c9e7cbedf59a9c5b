// Text from a model that is a LibTorch module: on any device by its own forward pass, and on the CPU by inference's
// decoder on the same weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "generate/generate.h"
#include "inference/model.h"
#include "model/language_model.h"

namespace chargpt {

/// The weights of a module as they lie in memory, which they must not leave while it is used. Error internal unless
/// they are float32 on the CPU.
InferenceModel inference_of(const LanguageModel& model);

/// fast: by the decoder, for models on the CPU; elsewhere cached. cached: the model's own forward with a key/value
/// cache where it has one; uncached: every position again for each token. All give the same distribution, logits within
/// 1e-4, and so the same text but for draws that fall between two such logits.
enum class Decoding { fast, cached, uncached };

struct ModuleDecodeOptions {
  Decoding decoding = Decoding::fast;
  Context context = Context::automatic;
};

/// `model` must outlive it, and not change.
std::unique_ptr<NextLogits> next_logits(LanguageModel& model, const ModuleDecodeOptions& options);

/// generate/generate.h for a module.
void generate(LanguageModel& model, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, const ModuleDecodeOptions& options = {});

/// As InferenceModel::round_matrices(), so that whatever computes with the model sees the same numbers.
void round_matrices(LanguageModel& model, Storage storage);

}  // namespace chargpt
