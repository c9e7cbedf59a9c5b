#include "checkpoint/checkpoint.h"

#include <cinttypes>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "text/documents.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_small_file_bytes = 64 << 20;

/// What the files say of one another.
void check(const Checkpoint& checkpoint) {
  if (checkpoint.state.start_symbol >= checkpoint.vocabulary.size())
    throw Error(ExitCode::data, checkpoint.path / state_file, ": start_symbol ", checkpoint.state.start_symbol,
                " is none of the ", checkpoint.vocabulary.size(), " symbols");
  const bool here = checkpoint.vocabulary.document() >= 0, expected = has_documents(checkpoint.config.config.data);
  if (here != expected)
    throw Error(ExitCode::data, checkpoint.path / vocabulary_file, here ? " has an id" : " has no id",
                " between documents, and the run's config says that its text has ", expected ? "some" : "none");
}

RunState state_in(const std::string& text, const fs::path& folder) {
  const std::string source = printable_path(folder / state_file);
  const RunState state = run_state_from_json(parse_strict_json(text, source), source);
  const auto named = checkpoint_step(folder.filename().string());
  if (named && *named != state.step)
    throw Error(ExitCode::data, source, " is of step ", state.step, ", its folder of step ", *named);
  return state;
}

Vocabulary vocabulary_in(const std::string& text, const fs::path& folder) {
  const std::string source = printable_path(folder / vocabulary_file);
  return Vocabulary::from_json(parse_strict_json(text, source), source);
}

// The config room's messages speak to the author of a config file; here nobody wrote one, so they mean damage.
ResolvedConfig config_in(const std::string& text, const fs::path& folder) {
  const std::string source = printable_path(folder / config_file);
  if (StrictObject(parse_strict_json(text, source), source).has("extends"))
    throw Error(ExitCode::data, source, " extends another file; the config of a checkpoint stands alone");
  try {
    return parse_config(text, source, folder);
  } catch (const Error& error) {
    throw Error(ExitCode::data, error.what());
  }
}

/// A file read as loading would.
FileReport report_on(const OpenFolder& folder, const std::string& name, const FileSum& sum) {
  const fs::path& path = folder.path();
  FileReport report{name, sum.bytes, sum.crc64, ""};
  try {
    std::string bytes = read_checked(folder, name, sum);
    if (name == state_file) state_in(bytes, path);
    if (name == vocabulary_file) vocabulary_in(bytes, path);
    if (name == config_file) config_in(bytes, path);
    if (name == model_file || name == optimizer_file || name == averaged_file)
      const SafetensorsFile tensors(std::move(bytes), printable_path(path / name));
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return formatted("step-%08" PRId64, step);
}

std::optional<std::int64_t> checkpoint_step(std::string_view name) {
  constexpr std::string_view prefix = "step-";
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::optional<std::int64_t> step = whole_number(name.substr(prefix.size()));
  return step && *step >= 0 && name == checkpoint_name(*step) ? step : std::nullopt;
}

ResolvedConfig read_config(const OpenFolder& folder) {
  return config_in(folder.read(config_file, max_small_file_bytes), folder.path());
}

RunState read_checked_state(const OpenFolder& folder) {
  return state_in(read_checked(folder, state_file, read_manifest(folder).at(state_file)), folder.path());
}

Checkpoint read_checkpoint(const OpenFolder& folder, bool with_optimizer) {
  const fs::path& path = folder.path();
  std::map<std::string, std::string> files;
  for (const auto& [name, sum] : read_manifest(folder))
    if (with_optimizer || name != optimizer_file) files[name] = read_checked(folder, name, sum);
  const auto tensors = [&](const char* name) {
    const auto found = files.find(name);
    return found == files.end()
               ? nullptr
               : std::make_unique<SafetensorsFile>(std::move(found->second), printable_path(path / name));
  };
  Checkpoint checkpoint{path, state_in(files[state_file], path), vocabulary_in(files[vocabulary_file], path),
                        config_in(files[config_file], path)};
  check(checkpoint);
  checkpoint.model = tensors(model_file);
  checkpoint.averaged = tensors(averaged_file);
  checkpoint.optimizer = tensors(optimizer_file);
  return checkpoint;
}

std::vector<FileReport> verify_checkpoint(const OpenFolder& folder) {
  std::vector<FileReport> reports(1);
  reports[0].name = manifest_file;
  try {
    const Manifest manifest = read_manifest(folder);
    const std::string text = folder.read(manifest_file);
    reports[0].bytes = text.size();
    reports[0].crc64 = crc64(text);
    for (const auto& [name, sum] : manifest) reports.push_back(report_on(folder, name, sum));
  } catch (const Error& error) {
    reports[0].problem = error.what();
  }
  return reports;
}

}  // namespace chargpt
