#include "exchange/imported_model.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "inference/model.h"
#include "inference/model_types.h"
#include "report/json_text.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

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

OwnTensor float_tensor(std::string name, std::vector<std::int64_t> shape) {
  std::size_t numel = 1;
  for (const std::int64_t size : shape) numel *= static_cast<std::size_t>(size);
  return {std::move(name), "F32", std::move(shape), std::vector<std::byte>(numel * sizeof(float))};
}

// A vector's memory is aligned for any type.
std::span<float> floats(OwnTensor& tensor) {
  return {reinterpret_cast<float*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)};
}
std::span<const float> floats(const OwnTensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)};
}

std::vector<TensorView> views_of(const std::vector<OwnTensor>& tensors) {
  std::vector<TensorView> views;
  for (const OwnTensor& tensor : tensors) views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  return views;
}

ResolvedConfig imported_config(nlohmann::ordered_json sections, const std::filesystem::path& folder,
                               const std::string& source) {
  const std::string name = name_of_path(folder);
  sections["name"] = is_utf8(name) ? name : "imported";
  sections["data"] = {{"text", unknown_text}};
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
