// The data for the page's JavaScript: curves, samples and facts of runs (browser/page.js), and a model's options,
// symbols and weights (browser/model.js).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "network/model.h"
#include "run/checkpoint.h"
#include "text/vocabulary.h"

namespace chargpt {

/// {"name", "parameters", losses, "steps": rows of (step, seconds, loss, learning rate, gradient norm, tokens per
/// second), "evaluations": rows of (step, seconds, train loss, validation loss), "samples", "facts", "config"}. The
/// name of a leaking run ends in "(leaks)". Texts and teachers are named without their folders. Long runs get evenly
/// spaced steps and samples. Adds problems, such as unreadable lines of metrics.jsonl, to `notices`. `checkpoint`: the
/// run's last one.
nlohmann::ordered_json run_data(const std::filesystem::path& run, const Checkpoint& checkpoint,
                                std::vector<std::string>& notices);

/// "tinyshakespeare.txt: 1,115,394 characters"
std::string text_of(const RunState& state, const DataConfig& data);

/// [{"name", "y"}]: losses of the strongest baseline of each class and of counted pairs, from the run's final figures;
/// empty if it has none.
nlohmann::ordered_json baseline_data(const std::filesystem::path& run);
/// Sentences on whether the run's best model (step `best_step`, as in run_data()) beats the baselines, from the same
/// figures; empty if they are of another checkpoint.
std::string verdict_data(const std::filesystem::path& run, const nlohmann::ordered_json& best_step);

/// Maximum number of weights in a page; each is a half-precision number.
constexpr std::int64_t most_page_parameters = 32 << 20;

/// {"config", "symbols", "bytes", "vocab_size", "tensors", "values"}: base64 of half-precision numbers (little-endian),
/// tensor after tensor. Throws Error usage if the model has more than most_page_parameters.
nlohmann::ordered_json model_data(const InferenceModel& model, const Vocabulary& vocabulary);

}  // namespace chargpt
