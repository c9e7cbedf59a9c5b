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
#include "text/documents.h"

namespace chargpt {
namespace {

constexpr std::string_view averaged_prefix = "averaged.";
constexpr const char* shares_name = "clock.shares";

RunState state_in(const SafetensorsFile& file, const fs::path& path) {
  const RunState state = run_state_from_json(own_json(file, "state"), file.source + ": state");
  const auto named = step_of(path.filename().string(), checkpoint_extension);
  if (named && *named != state.step)
    throw Error(ExitCode::data, path, " is of step ", state.step, ", which is not the step of its name");
  return state;
}

// A config error tells the author of a file what to change. Nobody wrote this one, so it means damage: Error data.
ResolvedConfig config_in(const std::string& text, const std::string& source) {
  try {
    return parse_config(text, source);
  } catch (const Error& error) {
    throw Error(ExitCode::data, error.what());
  }
}

/// Checks that state, config and vocabulary are consistent.
void check(const Checkpoint& checkpoint) {
  const RunState& state = checkpoint.state;
  for (const double seconds : {state.seconds, state.training_seconds, state.setup_seconds, state.closing_seconds})
    if (!(seconds >= 0 && std::isfinite(seconds)))
      throw Error(ExitCode::data, checkpoint.path, ": the run cannot have taken ", seconds, " s");
  if (checkpoint.config.config.train.max_seconds > 0 && state.step > 0 &&
      find_tensor(checkpoint.file.tensors, shares_name) == nullptr)
    throw Error(ExitCode::data, checkpoint.path, ": ", shares_name, " is missing, and train.max_seconds is set");
  if (checkpoint.state.start_symbol >= checkpoint.vocabulary.size())
    throw Error(ExitCode::data, checkpoint.path, ": start_symbol ", checkpoint.state.start_symbol,
                " is not one of the ", checkpoint.vocabulary.size(), " symbols");
  const bool here = checkpoint.vocabulary.document() >= 0, expected = has_documents(checkpoint.config.config.data);
  if (here != expected)
    throw Error(ExitCode::data, checkpoint.path, ": the vocabulary has ", here ? "an" : "no",
                " id between documents, and the config says that the text has ", expected ? "some" : "none");
}

/// The shares of time before each update. Error data unless there is one for each update, from 0 to 1.
std::vector<float> shares_in(const Checkpoint& checkpoint) {
  const TensorView& tensor =
      expect_tensor(checkpoint.file.tensors, checkpoint.file.source, shares_name, "F32", {checkpoint.state.step});
  std::vector<float> shares(static_cast<std::size_t>(checkpoint.state.step));
  std::memcpy(shares.data(), tensor.bytes.data(), tensor.bytes.size());
  for (const float share : shares)
    if (!(share >= 0 && share <= 1))
      throw Error(ExitCode::data, checkpoint.path, ": ", shares_name, " has ", share, "; shares are 0 to 1");
  return shares;
}

/// Distributes the tensors by the prefix of their names, and removes the prefix.
void sort_tensors(Checkpoint& checkpoint) {
  if (find_tensor(checkpoint.file.tensors, shares_name) != nullptr) checkpoint.state.shares = shares_in(checkpoint);
  for (TensorView tensor : checkpoint.file.tensors) {
    if (tensor.name == shares_name) continue;
    Tensors* part = &checkpoint.model;
    for (const auto& [prefix, own] :
         {std::pair(averaged_prefix, &checkpoint.averaged), std::pair(optimizer_prefix, &checkpoint.optimizer)}) {
      if (!tensor.name.starts_with(prefix)) continue;
      tensor.name.erase(0, prefix.size());
      part = own;
      break;
    }
    part->push_back(std::move(tensor));
  }
}

Checkpoint checkpoint_of(SafetensorsFile file, const fs::path& path) {
  check_own(file);
  Checkpoint checkpoint{.path = path,
                        .state = state_in(file, path),
                        .vocabulary = Vocabulary::from_json(own_json(file, "vocabulary"), file.source + ": vocabulary"),
                        .config = config_in(own_text(file, "config"), file.source + ": config"),
                        .file = std::move(file)};
  check(checkpoint);
  sort_tensors(checkpoint);
  return checkpoint;
}

/// Appends tensors in the reference order, with `prefix` before their names.
void append(std::span<const TensorView> tensors, std::string_view prefix, std::vector<TensorView>& all) {
  for (TensorView& tensor : reference_order(tensors)) {
    tensor.name.insert(0, prefix);
    all.push_back(std::move(tensor));
  }
}

std::map<std::string, std::string> metadata_of(const CheckpointToSave& checkpoint) {
  ResolvedConfig config = checkpoint.config;
  config.config = without_folders(std::move(config.config));
  return {{"config", json_text(to_json(config), -1, "")},
          {"vocabulary", json_text(checkpoint.vocabulary.to_json(), -1, "")},
          {"state", json_text(to_json(checkpoint.state), -1, "")}};
}

}  // namespace

Config without_folders(Config config) {
  config.data.text = names_of_paths(config.data.text);
  config.train.teacher = names_of_paths(config.train.teacher);
  return config;
}

std::string checkpoint_name(std::int64_t step) {
  return formatted("step-%08" PRId64, step);
}

std::optional<std::int64_t> step_of(std::string_view name, std::string_view extension) {
  constexpr std::string_view prefix = "step-";
  if (!name.starts_with(prefix) || !name.ends_with(extension)) return std::nullopt;
  name.remove_suffix(extension.size());
  const std::optional<std::int64_t> step = parsed_number<std::int64_t>(name.substr(prefix.size()));
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
  return checkpoint_of(read_safetensors(path, with_optimizer ? FilePart::all : FilePart::weights), path);
}

Checkpoint read_checkpoint(std::span<const std::byte> bytes, const fs::path& path) {
  return checkpoint_of(parse_safetensors(bytes, printable_path(path)), path);
}

RunState read_state(const fs::path& path) {
  const SafetensorsFile file = read_safetensors(path, FilePart::header, Links::refuse);
  check_own(file);
  return state_in(file, path);
}

ResolvedConfig read_config(const fs::path& run) {
  constexpr std::uint64_t longest = 64 << 20;
  const fs::path path = run / "config.json";
  return config_in(read_regular_file(path, longest), printable_path(path));
}

}  // namespace chargpt
