// How a run's network adapts (--adapt): as the run folder says, or else chosen anew and kept there.
#pragma once

#include <functional>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "cli/runs/loaded_run.h"
#include "evaluate/adaptation_choice.h"

namespace chargpt {

/// From here on each network of the run's members learns, by a rate of its own, which is returned. `train` is asked
/// only if nothing is kept for a member's weights. A line on stderr says if a kept file is damaged, if a choice could
/// not be kept. Errors as choose_adaptation.
std::vector<AdaptationChoice> adapt(LoadedRun& run, const std::function<TokenView()>& train,
                                    const Heartbeat& heartbeat);

/// RUN/adapt.json, hostile until read: what is kept for the weights of this CRC-64; none where that is nothing. Error
/// data where it is damaged, io where it cannot be read.
std::optional<AdaptationChoice> kept_choice(const std::filesystem::path& run, std::uint64_t weights);
/// Nothing where the folder is no run. Errors: io.
void keep_choice(const std::filesystem::path& run, std::uint64_t weights, const AdaptationChoice& choice);

/// "at rate 0.0002 and decay 0.0005, the rate chosen on the last 50,000 characters of the train split"
std::string to_text(const AdaptationChoice& choice, Units units);

nlohmann::ordered_json to_json(const AdaptationChoice& choice);

}  // namespace chargpt
