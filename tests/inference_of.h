// The weights of a LibTorch module as inference reads them, where they lie.
#pragma once

#include "model/language_model.h"
#include "network/model.h"

namespace chargpt {

inline InferenceModel inference_of(const LanguageModel& model) {
  const auto parameters = model.named_parameters();
  return InferenceModel(model.config(), model.vocab_size(),
                        [&](const std::string& name, const std::vector<std::int64_t>& shape) -> const float* {
                          const torch::Tensor* const tensor = parameters.find(name);
                          return tensor == nullptr || tensor->sizes() != shape ? nullptr
                                                                               : tensor->const_data_ptr<float>();
                        });
}

}  // namespace chargpt
