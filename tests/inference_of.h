// The weights of a LibTorch module as inference reads them.
#pragma once

#include "model/language_model.h"
#include "network/drawn_model.h"

namespace chargpt {

inline TestModel inference_of(const LanguageModel& model) {
  const auto parameters = model.named_parameters();
  return TestModel(model.config(), model.vocab_size(), [&](const std::string& name, const auto& /*shape*/) {
    return parameters[name].template const_data_ptr<float>();
  });
}

}  // namespace chargpt
