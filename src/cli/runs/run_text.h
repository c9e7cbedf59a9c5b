// Which text a command works on: the one named, the sample built into the program if nobody named any, or that of a
// run, wherever it is now. What a person should know about that goes to stderr.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/runs/loaded_run.h"
#include "run/checkpoint.h"
#include "run/kept_text.h"

namespace chargpt {

/// If neither a flag nor a config of the user's names a text, and the one that presets name is not there, the sample
/// built into the program takes its place, with a note on how to give another.
void choose_text(ResolvedConfig& config);

/// A line that says how far the reading of a large text has come, after the first second: repainted on a terminal, else
/// a plain one now and then. Nothing with --quiet. Ends the reading (Interrupted) if a signal asks the process to stop.
ReadingProgress reading_progress(const OutputArguments& output);

/// A line where the text is to come from standard input and that is a terminal, which would else look like a program
/// that hangs.
void tell_terminal(const Strings& names);

/// The text that `data` names, by the vocabulary that is known; its notices go to stderr. Errors: as load_corpus.
Corpus named_text(const DataConfig& data, const std::optional<Vocabulary>& known, const OutputArguments& output);

/// A line to stderr; nothing if it is empty.
void tell(const std::string& line);

/// The notices of a text (a byte order mark removed, say) to stderr.
void log_notices(const Corpus& corpus);

/// The text that a checkpoint's run was trained on; see find_text. `named`: the user has given data.text.
Corpus text_of_run(const Checkpoint& checkpoint, const DataConfig& data, const std::filesystem::path& run,
                   const OutputArguments& output, bool named);
Corpus text_of_run(const LoadedRun& run, const DataConfig& data, const OutputArguments& output);

}  // namespace chargpt
