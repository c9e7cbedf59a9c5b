// The listeners of a run: its folder's files and the terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/arguments.h"
#include "report/progress.h"
#include "train/trainer.h"

namespace chargpt {

/// config.json, metrics.jsonl, TensorBoard events, samples/ and the progress on stderr. `resume_step`: what the files
/// say about later steps is dropped; none for a new run. Call finish() on the result before anything
/// else is printed.
std::shared_ptr<ProgressPrinter> add_listeners(Trainer& trainer, const std::filesystem::path& run,
                                               const OutputArguments& output, std::optional<std::int64_t> resume_step);

}  // namespace chargpt
