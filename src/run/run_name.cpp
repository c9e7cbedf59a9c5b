#include "run/run_name.h"

#include <algorithm>
#include <optional>
#include <system_error>
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

namespace fs = std::filesystem;

constexpr const char* usual_folder = "runs";

/// Error usage if the user gave another program's model instead of a run.
void refuse_foreign_model(const fs::path& given) {
  const auto holds = [&](const char* name) { return is_there(given / name); };
  const std::string extension = is_folder(given) ? "" : given.extension().string();
  const std::string shown = printable_path(given);
  if (extension == ".pt" || extension == ".pth")
    throw Error(ExitCode::usage, shown,
                " is a PyTorch checkpoint; for nanoGPT's: python -m chargpt.nanogpt to-run ckpt.pt meta.pkl RUN");
  if (extension == ".gguf" || extension == ".bin" || extension == ".onnx")
    throw Error(ExitCode::usage, shown,
                " is another program's model; chargpt reads its own runs, and chargpt import converts folders of "
                "transformers");
  const bool of_transformers = holds("config.json") && (holds("tokenizer.json") || holds("tokenizer_config.json"));
  if (!is_run(given) && of_transformers)
    throw Error(ExitCode::usage, shown, " is a model of another program; chargpt import ", shell_quoted(given.native()),
                " makes a run of it");
}

bool is_bare(const fs::path& name) {
  return name.is_relative() && !name.native().starts_with('.');
}

/// Whether --overwrite renamed this run: RUN.old-N.
bool is_replaced_run(const std::string& name) {
  const std::size_t dot = name.rfind(".old-");
  return dot != std::string::npos && name.find_first_not_of("0123456789", dot + 5) == std::string::npos;
}

/// The modification time of a run's newest checkpoint file; the minimum time if it has none. nullopt for a folder that
/// is not a run or cannot be read.
std::optional<fs::file_time_type> last_saved(const fs::path& folder) {
  try {
    if (!is_run(folder)) return std::nullopt;
    fs::file_time_type newest = fs::file_time_type::min();
    for (const fs::path& file : list_checkpoints(folder)) newest = std::max(newest, fs::last_write_time(file));
    return newest;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string list_of(std::vector<std::string> names) {
  for (std::string& name : names) name = printable(name);
  return some_of(names, 5);
}

bool names_preset(const std::string& name) {
  return find_preset(name) != nullptr || find_preset("ladder/" + name) != nullptr;
}

}  // namespace

std::vector<std::string> names_of_runs(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (is_folder(at->path() / "checkpoints")) names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string run_meant(const std::string& given) {
  const fs::path path = given, in_runs = usual_folder / path, folder = folder_of(path);
  fs::path meant = path;
  if (!is_there(path) && is_bare(path) && is_folder(in_runs)) meant = in_runs;
  if (is_file(path) && path.extension() != checkpoint_extension && is_run(folder)) meant = folder;
  refuse_foreign_model(meant);
  return meant.string();
}

std::string config_or_run_meant(const std::string& given) {
  return is_there(given) || names_preset(given) ? given : run_meant(given);
}

std::string newest_run() {
  std::optional<std::tuple<fs::file_time_type, std::string>> newest;
  std::error_code failed;
  for (fs::directory_iterator at(usual_folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const auto saved = is_replaced_run(name) ? std::nullopt : last_saved(at->path());
    if (saved) newest = std::max(newest, std::optional(std::tuple(*saved, at->path().string())));
  }
  if (!newest)
    throw Error(ExitCode::missing, "runs/ contains no run; name a run's folder, or train one with `chargpt train`");
  return std::get<1>(*newest);
}

void expect_run(const fs::path& path) {
  if (!is_file(path) && !is_folder(path / "checkpoints"))
    throw Error(ExitCode::missing, no_run_at(path).what(), runs_near(path));
}

std::string runs_near(const fs::path& missing) {
  std::vector<fs::path> folders{folder_of(missing)};
  if (is_bare(missing)) folders.insert(folders.begin(), (usual_folder / missing).parent_path());
  std::string listed;
  for (const fs::path& folder : folders) {
    const std::vector<std::string> names = names_of_runs(folder);
    if (const auto nearest = nearest_name(missing.filename().string(), names))
      return "; did you mean " + printable_path(folder == "." ? fs::path(*nearest) : folder / *nearest) + "?";
    if (!names.empty() && listed.empty()) listed = "; runs in " + printable_path(folder) + ": " + list_of(names);
  }
  if (const std::string name = missing.string(); names_preset(name))
    listed.insert(0, "; it is a preset; to train a run: chargpt train " + name);
  return listed;
}

}  // namespace chargpt
