// The files of a run folder by name (listed in README.md). Only files with these names are replaced or removed, and
// only in a run. A new kind of file needs its name in run_files.cpp and README.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace chargpt {

/// {"format": "chargpt run", "version": 1, "program", "began", …} marks a folder as a run, so it is written first,
/// after the lock. Later fields are the location of the text, the checkpoint it began from and the final figures.
inline constexpr const char* run_mark = "run.json";
inline constexpr const char* lock_name = ".lock";  ///< see run_folder.h

/// Whether a folder is a run, that is, has the mark. Errors: io if run.json cannot be read; data if it is damaged and
/// there are checkpoints.
bool is_run(const std::filesystem::path& folder);

/// Sorted names in the folder samples/ or checkpoints/ of a run; empty if it does not exist or is a link. Errors: io.
std::vector<std::string> names_in(const std::filesystem::path& run, const std::string& folder);

/// NewerFormat if a newer program made the run. Errors: io.
void refuse_newer_run(const std::filesystem::path& run);

/// Writes the mark with the program's version and the time, unless the run has one. Errors: io.
void mark_run(const std::filesystem::path& run, const std::string& program_version = "");
/// A field of run.json; null if it is missing or the file is damaged, or if `run` is empty (see run_of()). Errors: io.
nlohmann::ordered_json run_fact(const std::filesystem::path& run, const std::string& name);
/// Sets a field of run.json; null removes it. Errors: io; data if the file is damaged.
void keep_run_fact(const std::filesystem::path& run, const std::string& name, const nlohmann::ordered_json& value);

/// Error busy if a folder is not a run and has other files than an interrupted start may leave. `option` is the advice
/// for choosing another folder: "--run DIR". Error io if `folder` is a file or cannot be read.
void refuse_strangers(const std::filesystem::path& folder, const std::string& option);

/// Error busy if a run has a symbolic link or another kind of file under a name that the program writes. Errors: io.
void refuse_replaced(const std::filesystem::path& run);

/// Removes temporary files that a killed process left. The caller must hold the run's lock.
void remove_unfinished_files(const std::filesystem::path& run);

/// Removes samples and figures of steps after `step`, from which the run continues.
void remove_later_files(const std::filesystem::path& run, std::int64_t step);

}  // namespace chargpt
