#include "run/checkpoint.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/format.h"
#include "run/strict_json.h"
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

// The messages of config/ speak to the author of a config file; here nobody wrote one, so they mean damage.
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

constexpr int current_version = 1;
constexpr std::uint64_t max_manifest_bytes = 1 << 16;
constexpr std::array names = {model_file, optimizer_file, state_file, vocabulary_file, config_file};

RunProgress progress_from_json(const StrictObject& object) {
  RunProgress progress;
  progress.step = object.integer("step", 0);
  progress.max_iters = object.integer("max_iters", 0);
  progress.seconds = object.real("seconds");
  progress.training_seconds = object.real("training_seconds");
  progress.val_loss = object.real("val_loss");
  progress.averaged_val_loss = object.real("averaged_val_loss");
  progress.best_val_loss = object.real("best_val_loss");
  progress.best_step = object.integer("best_step", RunProgress::no_step);
  progress.evals_without_improvement = object.integer("evals_without_improvement", 0);
  const std::optional<Ending> ended = enum_value<Ending>(object.text("ended"));
  if (!ended) object.refuse("ended", "a reason to end");
  progress.ended = *ended;
  return progress;
}

std::vector<TeacherWeights> teachers_from_json(const StrictObject& object) {
  std::vector<TeacherWeights> teachers;
  const nlohmann::json& list = object.field("teachers");
  if (!list.is_array()) object.refuse("teachers", "a list");
  for (const nlohmann::json& each : list) {
    const StrictObject teacher(each, object.source());
    teachers.push_back({teacher.text("checkpoint"), teacher.hex("crc64")});
  }
  return teachers;
}

nlohmann::ordered_json to_json(const std::vector<TeacherWeights>& teachers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TeacherWeights& teacher : teachers)
    list.push_back({{"checkpoint", teacher.checkpoint}, {"crc64", json_hex(teacher.crc64)}});
  return list;
}

RunConditions conditions_from_json(const StrictObject& object) {
  RunConditions conditions;
  const StrictObject data = object.object("data");
  conditions.data = {data.integer("tokens", 0), data.hex("crc64")};
  conditions.parameters = object.integer("parameters", 0);
  conditions.start_symbol = object.integer("start_symbol", 0);
  conditions.program_version = object.text("program_version");
  conditions.libtorch_version = object.text("libtorch_version");
  conditions.cpu_capability = object.text("cpu_capability");
  conditions.device = object.text("device");
  conditions.engine = object.text("engine");
  conditions.threads = object.integer("threads", 0);
  conditions.ranks = object.integer("ranks", 1);
  conditions.teachers = teachers_from_json(object);
  return conditions;
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

bool is_checkpoint_file(std::string_view name) {
  return name == manifest_file || name == averaged_file || std::find(names.begin(), names.end(), name) != names.end();
}

std::string manifest_text(const Manifest& manifest) {
  nlohmann::ordered_json files;
  for (const auto& [name, sum] : manifest) files[name] = {{"bytes", sum.bytes}, {"crc64", json_hex(sum.crc64)}};
  return json_text({{"format", "chargpt checkpoint"}, {"version", current_version}, {"files", files}});
}

Manifest parse_manifest(std::string_view text, const std::string& source) {
  const nlohmann::json json = parse_strict_json(text, source);
  const StrictObject object(json, source);
  if (object.text("format") != "chargpt checkpoint")
    throw Error(ExitCode::data, source, " is no manifest of a chargpt checkpoint");
  object.check_version("checkpoint format", current_version);
  const StrictObject files = object.object("files");
  Manifest manifest;
  const auto add = [&](const char* name) {
    const StrictObject file = files.object(name);
    manifest[name] = {static_cast<std::uint64_t>(file.integer("bytes", 0)), file.hex("crc64")};
  };
  for (const char* name : names) add(name);
  if (files.has(averaged_file)) add(averaged_file);
  if (object.field("files").size() != manifest.size())
    throw Error(ExitCode::data, source, " lists files that are no part of a checkpoint");
  return manifest;
}

Manifest read_manifest(const OpenFolder& folder) {
  const std::string source = printable_path(folder.path() / manifest_file);
  try {
    return parse_manifest(folder.read(manifest_file, max_manifest_bytes), source);
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing) throw;
    throw Error(ExitCode::data, source, " is missing, so the checkpoint is not complete");
  }
}

std::string read_checked(const OpenFolder& folder, const std::string& name, const FileSum& sum) {
  const std::filesystem::path path = folder.path() / name;
  const auto refuse_size = [&](std::uint64_t size) {
    throw Error(ExitCode::data, path, " is damaged: it has ", size, " bytes, and ", manifest_file, " says ", sum.bytes);
  };
  try {
    const Descriptor file = folder.open(name);
    if (const std::uint64_t size = file_size(file, path); size != sum.bytes) refuse_size(size);
    std::string bytes = read_open_file(file, sum.bytes, path);
    if (bytes.size() != sum.bytes) refuse_size(bytes.size());
    const std::uint64_t found = crc64(bytes);
    if (found != sum.crc64)
      throw Error(ExitCode::data, path, " is damaged: its CRC-64 is ", json_hex(found), ", and ", manifest_file,
                  " says ", json_hex(sum.crc64));
    return bytes;
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing) throw;
    throw Error(ExitCode::data, path, " is missing from the checkpoint");
  }
}

nlohmann::ordered_json to_json(const RunState& state) {
  return {{"version", current_version},
          {"step", state.step},
          {"max_iters", state.max_iters},
          {"seconds", json_real(state.seconds)},
          {"training_seconds", json_real(state.training_seconds)},
          {"val_loss", json_real(state.val_loss)},
          {"averaged_val_loss", json_real(state.averaged_val_loss)},
          {"best_val_loss", json_real(state.best_val_loss)},
          {"best_step", state.best_step},
          {"evals_without_improvement", state.evals_without_improvement},
          {"ended", enum_name(state.ended)},
          {"data", {{"tokens", state.data.tokens}, {"crc64", json_hex(state.data.crc64)}}},
          {"parameters", state.parameters},
          {"start_symbol", state.start_symbol},
          {"program_version", state.program_version},
          {"libtorch_version", state.libtorch_version},
          {"cpu_capability", state.cpu_capability},
          {"device", state.device},
          {"engine", state.engine},
          {"threads", state.threads},
          {"ranks", state.ranks},
          {"teachers", to_json(state.teachers)}};
}

RunState run_state_from_json(const nlohmann::json& json, const std::string& source) {
  const StrictObject object(json, source);
  object.check_version("run state", current_version);
  return {progress_from_json(object), conditions_from_json(object)};
}

}  // namespace chargpt
