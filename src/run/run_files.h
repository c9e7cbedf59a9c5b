// The files of a run folder, by name (README.md lists them). Only files of these names are replaced or removed, and
// only in a run. A new kind of file needs its name in run_files.cpp and README.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace chargpt {

/// {"format": "chargpt run", "version": 1, "program", "began", …}: marks a run, so it is written before everything but
/// the lock; later it also has the run's text and its final figures.
inline constexpr const char* run_mark = "run.json";
inline constexpr const char* lock_name = ".lock";  ///< see run_folder.h

/// Whether a folder is a run: it has the mark. Error io if that cannot be read.
bool is_run(const std::filesystem::path& folder);

/// Names in samples/ or checkpoints/ of a run, in order; none if that is a link or not there. Errors: io.
std::vector<std::string> names_in(const std::filesystem::path& run, const std::string& folder);

/// NewerFormat if the mark is of a newer program. Errors: io.
void refuse_newer_run(const std::filesystem::path& run);

/// Writes the mark, with the program's version and the time, if there is none yet. Errors: io.
void mark_run(const std::filesystem::path& run, const std::string& program_version = "");
/// A field of run.json; null if it is not there or the file is damaged. Errors: io.
nlohmann::ordered_json run_fact(const std::filesystem::path& run, const std::string& name);
/// Gives a field of run.json a value; null removes it. Errors: io, data if the file is damaged.
void keep_run_fact(const std::filesystem::path& run, const std::string& name, const nlohmann::ordered_json& value);

/// Error busy if a folder that is not a run contains anything but what an interrupted start may leave; `option` chooses
/// another, as "--run DIR". Errors: io, also for a file.
void refuse_strangers(const std::filesystem::path& folder, const std::string& option);

/// Error busy if a run contains a symbolic link or another kind of file under a name that the program writes. Errors:
/// io.
void refuse_replaced(const std::filesystem::path& run);

/// The step of the checkpoint that final figures are about; 0 if they do not say it.
std::int64_t figures_step(const nlohmann::ordered_json& figures);

/// Removes unfinished files, which a killed process leaves. Call it under the run's lock.
void remove_unfinished_files(const std::filesystem::path& run);

/// Removes samples and figures of steps after `step`, at which the run continues.
void remove_later_files(const std::filesystem::path& run, std::int64_t step);

}  // namespace chargpt
