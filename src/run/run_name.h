// From what people call a run to its folder: the same in every command. Knows no checkpoint's contents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace chargpt {

/// The run or checkpoint that a user means: `given` itself, or runs/`given` where nothing is called that; of a
/// file in a run, such as RUN/config.json, the run. Error usage for a model of another
/// program.
std::string run_meant(const std::string& given);

/// The same for commands that take configs too: a preset's name and whatever is there under that path are themselves.
std::string config_or_run_meant(const std::string& given);

/// The run in runs/ with the newest checkpoint file, without those that --overwrite renamed to RUN.old-N. Throws Error
/// missing if there is no run.
std::string newest_run();

/// Names of the folders in `folder` that look like runs, in order.
std::vector<std::string> names_of_runs(const std::filesystem::path& folder);

/// Error missing, with the runs that may have been meant, if `path` has neither a file nor a folder of checkpoints.
void expect_run(const std::filesystem::path& path);

/// "; did you mean runs/mine?", or else the names of some runs beside `missing`, or in runs/ where it is a bare name;
/// empty where there are none.
std::string runs_near(const std::filesystem::path& missing);

}  // namespace chargpt
