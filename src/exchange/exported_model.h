// A model on its way into another program's format: what every writer is given. Knows no format.
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"
#include "inference/model.h"

namespace chargpt {

struct ExportedModel {
  const Checkpoint& checkpoint;  ///< its optimizer is there only for formats that want it
  const InferenceModel& model;   ///< with the weights that were chosen
  std::string run;               ///< as the user named it, for people who read the result
  std::string license;           ///< of the model, as Hugging Face names licenses: "unknown"

  const Config& config() const { return checkpoint.config.config; }
  const ModelConfig& options() const { return checkpoint.config.config.model; }
  const Vocabulary& vocabulary() const { return checkpoint.vocabulary; }
  const RunState& state() const { return checkpoint.state; }
};

}  // namespace chargpt
