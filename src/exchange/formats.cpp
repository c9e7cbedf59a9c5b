#include "exchange/formats.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/quote.h"
#include "inference/model_types.h"
#include "report/json_text.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

/// All names that this version and earlier ones write.
constexpr std::string_view huggingface_files[] = {
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
    "README.md",   "model.safetensors",      "chargpt.json",   "modeling_chargpt.py"};
constexpr std::string_view nanogpt_files[] = {"model.safetensors", "optimizer.safetensors", "nanogpt.json"};

constexpr Format table[] = {
    {"huggingface",
     "a folder that transformers loads (AutoModelForCausalLM, AutoTokenizer)",
     "",
     {.names = huggingface_files},
     false,
     write_huggingface,
     is_huggingface,
     read_huggingface},
    {"nanogpt",
     "what scripts/chargpt_to_nanogpt.py reads and nanogpt_to_chargpt.py makes of ckpt.pt and meta.pkl",
     "",
     {.names = nanogpt_files},
     true,
     write_nanogpt,
     is_nanogpt,
     read_nanogpt},
    {"gguf", "a file that llama.cpp reads", ".gguf", {.is_own_file = is_own_gguf}, false, write_gguf, nullptr, nullptr},
};

/// Error internal unless these are the parameters of the config, every one and no other.
void check_parameters(const ImportedModel& model) {
  std::map<std::string, const OwnTensor*> tensors;
  for (const OwnTensor& tensor : model.parameters) tensors[tensor.name] = &tensor;
  const auto find = [&](const std::string& name, const std::vector<std::int64_t>& shape) -> const float* {
    const auto found = tensors.find(name);
    if (found == tensors.end() || found->second->shape != shape) return nullptr;
    return floats(*found->second).data();
  };
  const InferenceModel checked(model.config.config.model, model.vocabulary.size(), find);
  if (checked.parameters().size() != tensors.size())
    throw Error(ExitCode::internal, "an imported model has parameters that its options do not ask for");
}

RunState state_of(const ImportedModel& model, const std::string& program_version) {
  RunState state;
  state.step = model.step;
  state.max_iters = model.max_iters;
  state.data = model.text;
  state.parameters = count_parameters(model.config.config.model, model.vocabulary.size());
  state.start_symbol = std::max<std::int64_t>(0, model.vocabulary.id_of('\n'));
  state.program_version = program_version;
  state.libtorch_version = state.cpu_capability = "none";
  state.device = state.engine = "cpu";
  state.threads = 1;
  return state;
}

}  // namespace

std::span<const Format> formats() {
  return table;
}

const Format& format_of(std::string_view name) {
  return *std::ranges::find(table, name, &Format::name);
}

ResolvedConfig imported_config(nlohmann::ordered_json sections, const std::filesystem::path& folder,
                               const std::string& source) {
  const std::string name = name_of_path(folder);
  constexpr std::size_t longest = 100;  // name that a config can have
  const bool usable = !name.empty() && name.size() <= longest && printable(name, 4 * longest) == name;
  sections["name"] = usable ? name : "imported";
  sections["data"] = {{"text", "unknown:imported"}};  // no file, so that it is asked for where one is needed
  try {
    ResolvedConfig config = parse_config(sections.dump(), source, {});
    check_model_config(config.config.model);
    return config;
  } catch (const Error& error) {
    const std::string line = error.what();
    throw Error(ExitCode::data, line.starts_with(source) ? "" : source + ": ", line);
  }
}

void write_imported_run(const std::filesystem::path& run, const ImportedModel& model,
                        const std::string& program_version) {
  check_parameters(model);
  const std::vector<TensorView> parameters = views_of(model.parameters), optimizer = views_of(model.optimizer);
  write_file_atomically(run / "config.json", json_text(to_json(model.config)));
  const RunState state = state_of(model, program_version);
  save_checkpoint(run, {state, model.vocabulary, model.config, parameters, optimizer}, 1);
}

}  // namespace chargpt
