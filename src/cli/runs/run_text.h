// Chooses the text of a command: the given one, the built-in sample if none is given, or a run's text, even if it has
// moved. Notes on the choice go to stderr.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/heartbeat.h"
#include "cli/arguments.h"
#include "cli/runs/loaded_run.h"
#include "run/checkpoint.h"
#include "run/kept_text.h"

namespace chargpt {

/// Uses the built-in sample if no flag or user config names a text and the presets' text does not exist. Then notes on
/// stderr how to name a text.
void choose_text(ResolvedConfig& config);

/// The work_line() for reading a large text.
Heartbeat reading_line();

/// Loads the text that `data` names, with the `known` vocabulary if given; logs its notices. Errors: as load_corpus().
Corpus named_text(const DataConfig& data, const std::optional<Vocabulary>& known);

/// Logs a note unless it is empty.
void tell(const std::string& line);

/// Logs the notices of a text (a byte order mark removed, say).
void log_notices(const Corpus& corpus);

/// Loads the training text of a checkpoint's run; see find_text(). `named`: the user has given data.text.
Corpus text_of_run(const Checkpoint& checkpoint, const DataConfig& data, const std::filesystem::path& run, bool named);
Corpus text_of_run(const LoadedRun& run);

}  // namespace chargpt
