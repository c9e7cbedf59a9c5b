// How a run's network adapts (--adapt): as the run folder says, or else chosen anew and kept there.
#pragma once

#include <functional>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "cli/runs/loaded_run.h"
#include "evaluate/adaptation_choice.h"

namespace chargpt {

/// `train` is asked only if nothing is kept for these weights. A line on stderr says if the kept file is damaged, if
/// the choice could not be kept. Errors as choose_adaptation.
AdaptationChoice adaptation_of(LoadedRun& run, const std::function<TokenView()>& train, const Heartbeat& heartbeat);

/// "at rate 0.0002 and decay 0.0005, the rate chosen on the last 50,000 characters of the train split"
std::string to_text(const AdaptationChoice& choice, Units units);

nlohmann::ordered_json to_json(const AdaptationChoice& choice);

}  // namespace chargpt
