#include "model/inference_of.h"

#include "base/error.h"

namespace chargpt {

InferenceModel inference_of(const LanguageModel& model, std::vector<torch::Tensor>& copies) {
  const auto parameters = model.named_parameters();
  const auto values = [&](const std::string& name, const std::vector<std::int64_t>& shape) -> const float* {
    const torch::Tensor* const tensor = parameters.find(name);
    if (tensor == nullptr || tensor->sizes() != shape) return nullptr;
    if (tensor->scalar_type() != torch::kFloat32 || !tensor->is_contiguous())
      throw Error(ExitCode::internal, name + " is not float32 in one piece");
    if (tensor->is_cpu()) return tensor->const_data_ptr<float>();
    return copies.emplace_back(tensor->cpu()).const_data_ptr<float>();
  };
  return InferenceModel(model.config(), model.vocab_size(), values);
}

InferenceModel inference_of(const LanguageModel& model) {
  std::vector<torch::Tensor> copies;
  InferenceModel inference = inference_of(model, copies);
  if (!copies.empty()) throw Error(ExitCode::internal, "the model's weights are not in the CPU's memory");
  return inference;
}

}  // namespace chargpt
