// What a run's files tell of it, as the page's JavaScript reads it (browser/page.js): curves, samples, facts. Knows no
// model and no weight.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace chargpt {

/// {"name", "parameters", losses, "steps": rows of (step, seconds, loss, learning rate, gradient norm, tokens per
/// second), "evaluations": rows of (step, seconds, train loss, validation loss), "samples", "facts", "command",
/// "config"}. Folders of texts and teachers are left out. Of long runs evenly spaced steps and samples. `notices`: a
/// line of metrics.jsonl that cannot be read, and the like. `checkpoint`: the run's last one.
nlohmann::ordered_json run_data(const std::filesystem::path& run, const Checkpoint& checkpoint,
                                std::vector<std::string>& notices);

/// [{"name", "y"}]: what the strongest rival of each class reaches, and counted pairs, by the run's figures.json; empty
/// where there is none.
nlohmann::ordered_json baseline_data(const std::filesystem::path& run);
/// Whether the run's best model, of run_data()'s "best_step", beats them, in sentences, by the same file; empty where
/// it says nothing of that model.
std::string verdict_data(const std::filesystem::path& run, const nlohmann::ordered_json& best_step);

}  // namespace chargpt
