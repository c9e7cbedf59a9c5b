#include "cli/run_folder.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/unfinished_files.h"
#include "checkpoint/checkpoint.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

void make_folders(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed)
    throw Error(ExitCode::io, "cannot make the folder " + path.string() + ": " + failed.message() +
                                  "; --run DIR chooses another place");
}

/// "ladder/bigram" -> "ladder-bigram": one folder name, whatever the config is called.
std::string folder_name(std::string config_name) {
  std::replace_if(
      config_name.begin(), config_name.end(), [](unsigned char c) { return c == '/' || c == '\\' || c < 32; }, '-');
  return config_name.empty() || config_name[0] == '.' ? "run" + config_name : config_name;
}

fs::path first_free_folder(const std::string& config_name) {
  make_folders("runs");
  for (int n = 1;; ++n) {
    const fs::path path = fs::path("runs") / (folder_name(config_name) + "-" + std::to_string(n));
    std::error_code failed;
    if (fs::create_directory(path, failed)) return path;
    if (failed) throw Error(ExitCode::io, "cannot make the folder " + path.string() + ": " + failed.message());
  }
}

bool belongs_to_a_run(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "config.json" || name == "metrics.jsonl" || name == "samples" || name == "checkpoints" ||
         name == "figures.json" || name == "report.html" || name == ".lock" ||
         name.starts_with("events.out.tfevents.") || is_unfinished_name(name);
}

void empty_run_folder(const fs::path& run) {
  const RunLock lock(run);
  for (const fs::directory_entry& entry : fs::directory_iterator(run))
    if (belongs_to_a_run(entry.path()) && entry.path().filename() != ".lock") fs::remove_all(entry.path());
}

void refuse_existing(const fs::path& run) {
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (!belongs_to_a_run(entry.path()))
      throw Error(ExitCode::busy, run.string() + " holds files that are no part of a run (" +
                                      entry.path().filename().string() + "); choose another folder by --run DIR");
    if (entry.path().filename() == "config.json" || entry.path().filename() == "checkpoints")
      throw Error(ExitCode::busy, run.string() + " already holds a run: go on with it by `chargpt resume " +
                                      run.string() +
                                      "`, choose another folder by --run DIR, or start over by --overwrite");
  }
}

}  // namespace

RunPlace run_place(const fs::path& run_or_checkpoint, const std::string& which) {
  const bool slash = !run_or_checkpoint.has_filename();
  const fs::path path = slash ? run_or_checkpoint.parent_path() : run_or_checkpoint;
  const fs::path parent = path.parent_path();
  std::error_code ignored;
  if (parent.filename() != "checkpoints" || fs::is_directory(path / "checkpoints", ignored)) return {path, which};
  const fs::path run = parent.parent_path();
  return {run.empty() ? fs::path(".") : run, path.filename().string()};
}

fs::path make_run_folder(const std::string& wanted, const std::string& config_name, bool overwrite) {
  if (wanted.empty()) return first_free_folder(config_name);
  const fs::path run = wanted;
  make_folders(run);
  if (overwrite)
    empty_run_folder(run);
  else
    refuse_existing(run);
  return run;
}

}  // namespace chargpt
