// Folders are untrusted input: sizes in config.json are allocated only after a tensor of the file confirms them.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "config/describe.h"
#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "exchange/huggingface.h"
#include "exchange/layout.h"
#include "network/layers.h"
#include "network/model_types.h"
#include "report/format.h"
#include "run/checkpoints.h"
#include "run/strict_json.h"
#include "text/documents.h"

namespace chargpt {
namespace {

constexpr std::uint64_t max_config_file = 1 << 20, max_tokenizer_file = 64 << 20;
constexpr std::int64_t most_ids = 0x110000;

nlohmann::json json_at(const fs::path& path, std::uint64_t most) {
  return parse_strict_json(read_regular_file(path, most, Links::follow), printable_path(path));
}

/// A config with these options of `model`, an unknown text and, if valid, the name of `folder`. Throws Error data if
/// an option is out of range or options do not fit together.
ResolvedConfig imported_config(const Json& model, const StrictObject& theirs, bool documents, const fs::path& folder) {
  Json sections = {{"model", model}};
  const std::string name = name_of_path(folder);
  const bool usable = !name.empty() && name.size() <= max_name_bytes && printable(name, 4 * max_name_bytes) == name;
  sections["name"] = usable ? name : "imported";
  sections["data"] = {{"text", "unknown:imported"}};  // not a file, so commands that need a text ask for it
  if (documents)
    for (const char* key : {"documents", "separator"}) sections["data"][key] = value_in(theirs, key);
  try {
    ResolvedConfig config = parse_config(sections.dump(), theirs.source());
    check_model_config(config.config.model);
    if (documents != has_documents(config.config.data)) theirs.refuse("documents", "that of its tokenizer");
    return config;
  } catch (const Error& error) {
    const std::string line = error.what();
    throw Error(ExitCode::data, line.starts_with(theirs.source()) ? "" : theirs.source() + ": ", line);
  }
}

RunState state_of(const ImportedModel& model, const std::string& program_version) {
  RunState state;
  state.data = model.text;
  state.parameters = count_parameters(model.config.config.model, model.vocabulary.size());
  state.start_symbol = std::max({std::int64_t{0}, model.vocabulary.id_of('\n'), model.vocabulary.document()});
  state.program_version = program_version;
  state.libtorch_version = state.cpu_capability = "none";
  state.device = state.engine = "cpu";
  state.threads = 1;
  return state;
}

// ---- the folder

Architecture architecture_in(const StrictObject& config) {
  const Json type = value_in(config, "model_type");
  const auto known = type.is_string() ? enum_value<Architecture>(type.get<std::string>()) : std::nullopt;
  if (!known) config.refuse("model_type", "gpt2, llama, qwen3 or chargpt");
  return *known;
}

/// Number of key and value heads.
std::int64_t read_shared_heads(const StrictObject& config, std::int64_t heads) {
  const std::int64_t shared = size_in(config, "num_key_value_heads", heads, heads);
  if (heads % shared != 0) config.refuse("num_key_value_heads", line_of("a divisor of num_attention_heads = ", heads));
  return shared;
}

/// The file of weights. Never reads a pickle, because that can run code.
fs::path weights_of(const fs::path& folder) {
  const fs::path weights = folder / "model.safetensors";
  if (is_there(weights)) return weights;
  throw Error(ExitCode::missing, weights,
              " does not exist; save the model in this one file, and not as a pickle: save_pretrained(FOLDER, "
              "max_shard_size=\"100GB\")");
}

std::vector<OwnTensor> read_parameters(const fs::path& path, const StrictObject& config, Architecture architecture,
                                       const ModelConfig& theirs, const ImportedSymbols& tokenizer) {
  const ForeignModel& model = foreign_model(architecture);
  ForeignTensors tensors(path, model.prefix);
  std::vector<LayoutRow> rows = rows_in_transformers(theirs, architecture, std::ssize(tokenizer.rows));
  if (theirs.tie_weights && tensors.has("lm_head.weight")) {
    rows.push_back(rows.front());
    rows.back().theirs = "lm_head.weight";
  }
  for (std::int64_t block = 0; block < theirs.n_layer; ++block)
    for (const std::string_view buffer : model.tensors.buffers)
      tensors.ignore(line_of(model.tensors.block, block, ".", buffer));
  std::vector<OwnTensor> parameters = tensors_as_ours(
      tensors, rows,
      {.symbols = tokenizer.rows, .heads = theirs.n_head, .shared_heads = read_shared_heads(config, theirs.n_head)});
  tensors.expect_no_more();
  return parameters;
}

}  // namespace

ImportedModel read_huggingface(const fs::path& path) {
  const fs::path folder = without_final_slash(path), config_path = folder / "config.json";
  const nlohmann::json json = json_at(config_path, max_config_file);
  const StrictObject config(json, printable_path(config_path));
  const Architecture architecture = architecture_in(config);
  const std::int64_t ids = size_in(config, "vocab_size", most_ids);
  const fs::path tokenizer_path = folder / "tokenizer.json", weights = weights_of(folder);
  const ImportedSymbols tokenizer =
      read_tokenizer(json_at(tokenizer_path, max_tokenizer_file), ids, printable_path(tokenizer_path));
  const ResolvedConfig ours =
      imported_config(to_ours(config, architecture), config, tokenizer.vocabulary.document() >= 0, folder);
  ImportedModel model{.config = ours,
                      .vocabulary = tokenizer.vocabulary,
                      .parameters = read_parameters(weights, config, architecture, ours.config.model, tokenizer),
                      .what = foreign_model(architecture).what,
                      .notices = tokenizer.notices};
  if (tokenizer.vocabulary.units() == Units::bytes) model.config.config.data.units = Units::bytes;
  return model;
}

void write_imported_run(const fs::path& run, const ImportedModel& model, const std::string& program_version) {
  write_file_atomically(run / "config.json", json_text(to_json(model.config)));
  save_checkpoint(
      run, {state_of(model, program_version), model.vocabulary, model.config, views_of(model.parameters), {}}, 1);
}

}  // namespace chargpt
