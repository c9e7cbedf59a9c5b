#include "run/run_name.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/document.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/run_files.h"

namespace chargpt {

namespace {

constexpr const char* usual_folder = "runs";

/// Error usage if the user gave another program's model instead of a run.
void refuse_foreign_model(const fs::path& given) {
  if ((given.extension() == ".pt" || given.extension() == ".pth") && !is_folder(given))
    throw Error(ExitCode::usage, given,
                " is a PyTorch checkpoint; for nanoGPT's: python -m chargpt.nanogpt to-run ckpt.pt meta.pkl RUN");
  if (is_model_of_transformers(given))
    throw Error(ExitCode::usage, given, " is a model of another program; chargpt import ", shell_quoted(given.native()),
                " makes a run of it");
}

bool is_bare(const fs::path& name) {
  return name.is_relative() && !name.native().starts_with('.');
}

/// The modification time of a run's newest checkpoint file; the minimum time if it has none or they cannot be read.
fs::file_time_type last_saved(const fs::path& run) {
  fs::file_time_type newest = fs::file_time_type::min();
  try {
    for (const fs::path& file : list_checkpoints(run)) newest = std::max(newest, fs::last_write_time(file));
  } catch (const std::exception&) {  // another run counts
  }
  return newest;
}

}  // namespace

std::vector<std::string> names_of_runs(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) try {
      if (is_folder(at->path() / "checkpoints") || is_run(at->path())) names.push_back(at->path().filename().string());
    } catch (const Error&) {  // it cannot be read
    }
  std::ranges::sort(names);
  return names;
}

std::string run_meant(const std::string& given) {
  const fs::path path = given, in_runs = usual_folder / path, folder = folder_of(path);
  fs::path meant = path;
  if (!is_there(path) && is_bare(path) && is_there(in_runs)) meant = in_runs;
  if (is_file(path) && path.extension() != checkpoint_extension && is_run(folder)) meant = folder;
  refuse_foreign_model(meant);
  return meant.string();
}

std::string config_or_run_meant(const std::string& given) {
  return is_there(given) || !preset_meant(given).empty() ? given : run_meant(given);
}

std::string newest_run() {
  std::pair<fs::file_time_type, fs::path> newest{fs::file_time_type::min(), ""};
  for (const std::string& name : names_of_runs(usual_folder)) {
    const fs::path run = usual_folder / fs::path(name);
    newest = std::max(newest, std::pair(last_saved(run), run));
  }
  if (newest.second.empty())
    throw Error(ExitCode::missing, "runs/ contains no run; name a run's folder, or train one with `chargpt train`");
  return newest.second.string();
}

void expect_run(const fs::path& path) {
  if (!is_file(path) && !is_folder(path / "checkpoints") && !is_run(path))
    throw Error(ExitCode::missing, "no run or checkpoint at ", path, runs_near(path));
}

std::string runs_near(const fs::path& missing) {
  for (const fs::path& path : {is_bare(missing) ? usual_folder / missing : missing, missing})
    if (const auto nearest = nearest_name(path.filename().string(), names_of_runs(folder_of(path)));
        nearest && *nearest != path.filename())
      return line_of("; did you mean ", path.parent_path() / *nearest, "?");
  const std::string name = missing.string();
  return preset_meant(name).empty() ? "; to list the runs in runs/: chargpt runs"
                                    : "; it is a preset; to train a run: chargpt train " + name;
}

}  // namespace chargpt
