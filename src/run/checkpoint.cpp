#include "run/checkpoint.h"

#include <cinttypes>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "config/describe.h"
#include "report/format.h"
#include "run/strict_json.h"
#include "text/documents.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;
using Metadata = std::map<std::string, std::string>;

constexpr const char* format_key = "chargpt";
constexpr std::int64_t current_format = 1;
constexpr std::string_view averaged_prefix = "averaged.";
constexpr const char* shares_name = "clock.shares";

/// Of metadata. Error data if it is not there.
const std::string& field_of(const Metadata& metadata, const std::string& name, const std::string& source) {
  const auto found = metadata.find(name);
  if (found == metadata.end())
    throw Error(ExitCode::data, source, " is not a checkpoint of chargpt: its metadata has no '", name, "'");
  return found->second;
}

void check_format(const Metadata& metadata, const std::string& source) {
  const std::string& format = field_of(metadata, format_key, source);
  const std::int64_t version = whole_number(format).value_or(0);
  if (version > current_format)
    throw NewerFormat(ExitCode::data, source, ": checkpoint format ", version,
                      ", made by a newer chargpt; this one reads format ", current_format);
  if (version < 1) throw Error(ExitCode::data, source, ": unknown checkpoint format '", printable(format, 20), "'");
}

RunState state_in(const Metadata& metadata, const fs::path& path) {
  const std::string source = printable_path(path) + ": state";
  const RunState state =
      run_state_from_json(parse_strict_json(field_of(metadata, "state", printable_path(path)), source), source);
  const auto named = step_of(path.filename().string(), checkpoint_extension);
  if (named && *named != state.step)
    throw Error(ExitCode::data, path, " is of step ", state.step, ", which is not the step of its name");
  return state;
}

// The messages of config/ speak to the author of a config file; here nobody wrote one, so they mean damage.
ResolvedConfig config_in(const std::string& text, const std::string& source, const fs::path& folder) {
  if (StrictObject(parse_strict_json(text, source), source).has("extends"))
    throw Error(ExitCode::data, source, " extends another file; the config of a run must be complete");
  try {
    return parse_config(text, source, folder);
  } catch (const Error& error) {
    throw Error(ExitCode::data, error.what());
  }
}

/// What the parts of the metadata say about one another.
void check(const Checkpoint& checkpoint) {
  const RunState& state = checkpoint.state;
  for (const double seconds : {state.seconds, state.training_seconds, state.setup_seconds, state.closing_seconds})
    if (!(seconds >= 0 && std::isfinite(seconds)))
      throw Error(ExitCode::data, checkpoint.path, ": the run cannot have taken ", seconds, " s");
  if (checkpoint.config.config.train.max_seconds > 0 && state.step > 0 &&
      checkpoint.file.tensors().find(shares_name) == nullptr)
    throw Error(ExitCode::data, checkpoint.path, ": ", shares_name, " is missing, and train.max_seconds is set");
  if (checkpoint.state.start_symbol >= checkpoint.vocabulary.size())
    throw Error(ExitCode::data, checkpoint.path, ": start_symbol ", checkpoint.state.start_symbol,
                " is not one of the ", checkpoint.vocabulary.size(), " symbols");
  const bool here = checkpoint.vocabulary.document() >= 0, expected = has_documents(checkpoint.config.config.data);
  if (here != expected)
    throw Error(ExitCode::data, checkpoint.path, ": the vocabulary has ", here ? "an" : "no",
                " id between documents, and the config says that the text has ", expected ? "some" : "none");
}

/// Error data unless there is one for each update, 0 to 1.
std::vector<float> shares_in(const Checkpoint& checkpoint) {
  const TensorView& tensor = expect_tensor(checkpoint.file.tensors(), printable_path(checkpoint.path), shares_name,
                                           "F32", {checkpoint.state.step});
  std::vector<float> shares(static_cast<std::size_t>(checkpoint.state.step));
  std::memcpy(shares.data(), tensor.bytes.data(), tensor.bytes.size());
  for (const float share : shares)
    if (!(share >= 0 && share <= 1))
      throw Error(ExitCode::data, checkpoint.path, ": ", shares_name, " has ", share, "; shares are 0 to 1");
  return shares;
}

/// Puts each tensor where its name says that it belongs, without the prefix that says it.
void sort_tensors(Checkpoint& checkpoint) {
  if (checkpoint.file.tensors().find(shares_name) != nullptr) checkpoint.state.shares = shares_in(checkpoint);
  for (TensorView tensor : checkpoint.file.tensors().all()) {
    if (tensor.name == shares_name) continue;
    Tensors* part = &checkpoint.model;
    for (const auto& [prefix, own] :
         {std::pair(averaged_prefix, &checkpoint.averaged), std::pair(optimizer_prefix, &checkpoint.optimizer)}) {
      if (!tensor.name.starts_with(prefix)) continue;
      tensor.name.erase(0, prefix.size());
      part = own;
      break;
    }
    part->add(std::move(tensor));
  }
}

Checkpoint checkpoint_of(SafetensorsFile file, const fs::path& path, bool whole) {
  const std::string source = printable_path(path);
  const Metadata& metadata = file.metadata();
  check_format(metadata, source);
  check_sums(file, whole, source);
  RunState state = state_in(metadata, path);
  const std::string vocabulary = source + ": vocabulary";
  Checkpoint checkpoint{
      path,
      std::move(state),
      Vocabulary::from_json(parse_strict_json(field_of(metadata, "vocabulary", source), vocabulary), vocabulary),
      config_in(field_of(metadata, "config", source), source + ": config", folder_of(path)),
      std::move(file),
      {}};
  check(checkpoint);
  sort_tensors(checkpoint);
  return checkpoint;
}

/// In the order of their names, which then get the prefix.
void append(std::span<const TensorView> tensors, std::string_view prefix, std::vector<TensorView>& all) {
  for (TensorView& tensor : reference_order(tensors)) {
    tensor.name.insert(0, prefix);
    all.push_back(std::move(tensor));
  }
}

/// Folders are private: a checkpoint has the names of files alone.
ResolvedConfig without_folders(ResolvedConfig config) {
  config.config.data.text = names_of_paths(config.config.data.text);
  config.config.train.teacher = names_of_paths(config.config.train.teacher);
  return config;
}

Metadata metadata_of(const CheckpointToSave& checkpoint) {
  return {{format_key, std::to_string(current_format)},
          {"config", json_text(to_json(without_folders(checkpoint.config)), -1, "")},
          {"vocabulary", json_text(checkpoint.vocabulary.to_json(), -1, "")},
          {"state", json_text(to_json(checkpoint.state), -1, "")}};
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return formatted("step-%08" PRId64, step);
}

std::optional<std::int64_t> step_of(std::string_view name, std::string_view extension) {
  constexpr std::string_view prefix = "step-";
  if (!name.starts_with(prefix) || !name.ends_with(extension)) return std::nullopt;
  name.remove_suffix(extension.size());
  const std::optional<std::int64_t> step = whole_number(name.substr(prefix.size()));
  return step && *step >= 0 && name == checkpoint_name(*step) ? step : std::nullopt;
}

void write_checkpoint(const fs::path& path, const CheckpointToSave& checkpoint) {
  std::vector<TensorView> tensors;
  append(checkpoint.model, "", tensors);
  append(checkpoint.averaged, averaged_prefix, tensors);
  if (const std::vector<float>& shares = checkpoint.state.shares; !shares.empty())
    tensors.push_back({shares_name, "F32", {std::ssize(shares)}, std::as_bytes(std::span(shares))});
  append(checkpoint.optimizer, optimizer_prefix, tensors);
  const std::string header = checked_header(tensors, metadata_of(checkpoint));
  write_file_atomically(path, [&](const ByteSink& sink) { write_safetensors(sink, header, tensors); });
}

Checkpoint read_checkpoint(const fs::path& path, bool with_optimizer) {
  const Descriptor file = open_regular_file(path, Links::follow);
  return checkpoint_of(SafetensorsFile(file, path, with_optimizer ? "" : optimizer_prefix), path, with_optimizer);
}

Checkpoint read_checkpoint(std::span<const std::byte> bytes, const fs::path& path) {
  return checkpoint_of(SafetensorsFile(bytes, printable_path(path)), path, /*whole=*/true);
}

RunState read_state(const fs::path& path) {
  const Metadata metadata = read_metadata(path);
  check_format(metadata, printable_path(path));
  return state_in(metadata, path);
}

ResolvedConfig read_config(const fs::path& run) {
  constexpr std::uint64_t longest = 64 << 20;
  const fs::path path = run / "config.json";
  return config_in(read_regular_file(path, longest), printable_path(path), run);
}

}  // namespace chargpt
