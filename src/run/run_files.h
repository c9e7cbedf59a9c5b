// What a run folder consists of: the files that the program writes into one, by name (README.md lists them). Nothing is
// followed out of it, and only a run that came to nothing is removed. A new kind of file needs its name in
// run_files.cpp and README.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/open_folder.h"

namespace chargpt {

/// {"format": "chargpt run", "version": 1}: written before all else, removed last.
inline constexpr const char* run_mark = "run.json";
inline constexpr const char* lock_name = ".lock";  ///< see run_folder.h

/// Whether a folder is a run: it has the mark. Error io where that cannot be read.
bool is_run(const std::filesystem::path& folder);

/// NewerFormat where its mark is of a newer program, so that this one cannot know what the run means. Errors: io.
void refuse_newer_run(const OpenFolder& run);

/// Makes a folder a run where it has no mark yet. Errors: io.
void mark_run(const OpenFolder& run);

/// Error busy where a folder that is no run holds anything, naming it; `option` chooses another, as "--run DIR". What a
/// start has there before it marks the folder is nothing, and so is all in a folder that another process has marked by
/// now. Errors: io, also where it is a file.
void refuse_strangers(const std::filesystem::path& folder, const std::string& option);

/// Error busy where a run holds something else under the name of what the program writes there: a symbolic link, or a
/// folder for a file. Errors: io.
void refuse_replaced(const std::filesystem::path& run);

/// Removes what a crash left of files that were being written. Only where no other process is writing there. What
/// cannot be removed stays.
void remove_unfinished_files(const OpenFolder& run);

/// Removes samples and figures of steps after `step`, at which the run continues.
void remove_later_files(const OpenFolder& run, std::int64_t step);

/// Removes what a run that never made a step has written, but for its lock; its mark last.
void remove_beginning(const OpenFolder& run);

}  // namespace chargpt
