// Which text a command works on: the one named, the sample inside the program where nobody named any, or that of a run,
// wherever it lies now. What a person should know of that goes to stderr.
#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/arguments.h"
#include "text/text_place.h"

namespace chargpt {

/// Where neither a flag nor a config of the user's names a text, and the one that presets name is not there: the sample
/// inside the program takes its place, with a note on how to give another.
void choose_text(ResolvedConfig& config);

/// A line that tells how far the reading of a large text is, from a second on: repainted on a terminal, else now and
/// then a plain one. Nothing with --quiet. Ends the reading (Interrupted) where a signal has asked the process to stop.
ReadingProgress reading_progress(const OutputArguments& output);

/// The notices of a text (a byte order mark removed, say) to stderr.
void log_notices(const Corpus& corpus);

/// The text that a checkpoint's run was trained on; see find_text. Where it is not as the config names it, a note says
/// where it is. `data`: the checkpoint's, or what the user has made of it; another text there is the only one looked
/// at.
FoundText text_of_run(const Checkpoint& checkpoint, const DataConfig& data, const std::filesystem::path& run,
                      const std::filesystem::path& cache_folder, const OutputArguments& output);

}  // namespace chargpt
