#include "exchange/imported_model.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "inference/model_types.h"

namespace chargpt {

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
  for (const OwnTensor& tensor : tensors) views.push_back(tensor.view());
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

}  // namespace chargpt
