// Runs and a model as the page's JavaScript reads them: what a run's files tell of it (browser/page.js), curves,
// samples, facts; a model's options, symbols and weights (browser/model.js).
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
/// second), "evaluations": rows of (step, seconds, train loss, validation loss), "samples", "facts", "command",
/// "config"}; a leaking run's name says so. Folders of texts and teachers are left out. Of long runs evenly spaced
/// steps and samples. `notices`: a line of metrics.jsonl that cannot be read, and the like. `checkpoint`: the run's
/// last one.
nlohmann::ordered_json run_data(const std::filesystem::path& run, const Checkpoint& checkpoint,
                                std::vector<std::string>& notices);

/// [{"name", "y"}]: what the strongest rival of each class reaches, and counted pairs, by the run's final figures;
/// empty where there is none.
nlohmann::ordered_json baseline_data(const std::filesystem::path& run);
/// Whether the run's best model, of run_data()'s "best_step", beats them, in sentences, by the same file; empty where
/// it says nothing of that model.
std::string verdict_data(const std::filesystem::path& run, const nlohmann::ordered_json& best_step);

/// Most numbers that a page holds, each in half precision.
constexpr std::int64_t most_page_parameters = 32 << 20;

/// {"config", "symbols", "bytes", "vocab_size", "tensors", "values"}: base64 of half-precision numbers (little-endian),
/// tensor after tensor. Error usage where the model has more than most_page_parameters.
nlohmann::ordered_json model_data(const InferenceModel& model, const Vocabulary& vocabulary);

}  // namespace chargpt
