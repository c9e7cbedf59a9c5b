// The weights of a LibTorch module as inference reads them: what samples are drawn with while a model trains.
#pragma once

#include <torch/types.h>

#include <vector>

#include "inference/model.h"
#include "model/language_model.h"

namespace chargpt {

/// The weights as they lie in memory, where they must stay. Of a model on a GPU, copies, which `copies` keeps. Error
/// internal unless they are float32.
InferenceModel inference_of(const LanguageModel& model, std::vector<torch::Tensor>& copies);
/// Of a model on the CPU.
InferenceModel inference_of(const LanguageModel& model);

}  // namespace chargpt
