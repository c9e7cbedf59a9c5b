// README.md of an exported folder, as Hugging Face's model cards are: what the model is, what it was trained on, how
// good it is beside counting and compressing, and the command that trains it again. Names no path of this machine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "exchange/exported_model.h"

namespace chargpt {

/// Beside the loss the figures of RUN/figures.json, where they are this checkpoint's.
std::string model_card(const ExportedModel& model);

/// The config that the card's command trains, with file names in place of paths.
nlohmann::ordered_json config_to_train(const ExportedModel& model);

}  // namespace chargpt
