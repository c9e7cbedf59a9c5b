// Finds the run folder that a user means, by the same rules in every command. Independent of checkpoint contents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace chargpt {

/// The run or checkpoint that a user means by `given`: that path, or runs/`given` if it does not exist; for another
/// file of a run, such as RUN/config.json, the run. Error usage for a model of another program.
std::string run_meant(const std::string& given);

/// run_meant() for commands that also take configs: returns presets' names and existing paths unchanged.
std::string config_or_run_meant(const std::string& given);

/// The run in runs/ with the newest checkpoint file. Error missing if there is no run.
std::string newest_run();

/// Sorted names of the folders in `folder` that look like runs.
std::vector<std::string> names_of_runs(const std::filesystem::path& folder);

/// Error missing, naming similar runs, if `path` is neither a file nor a folder with checkpoints.
void expect_run(const std::filesystem::path& path);

/// "; did you mean runs/mine?", with the nearest run in the folder of `missing` or, for a bare name, in runs/; else
/// what to do instead.
std::string runs_near(const std::filesystem::path& missing);

}  // namespace chargpt
