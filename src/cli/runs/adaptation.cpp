#include "cli/runs/adaptation.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "cli/runs/figures.h"
#include "report/log.h"
#include "run/kept_files.h"

namespace chargpt {

namespace {

constexpr KeptFile adapt_file{"adapt.json", "chargpt adaptation"};

double part_in(const StrictObject& object, const std::string& field) {
  const double value = object.real(field);
  if (!(value >= 0 && value <= 1)) object.refuse(field, "a number from 0 to 1");
  return value;
}

AdaptationChoice adaptation_of(LoadedRun& run, const std::function<TokenView()>& train, const Heartbeat& heartbeat) {
  const std::uint64_t weights = weights_digest(*run.model);
  try {
    if (std::optional<AdaptationChoice> kept = kept_choice(run.folder, weights)) return *std::move(kept);
  } catch (const Error& error) {
    log_warning(error.what(), "; the rate is chosen anew");
  }
  AdaptationChoice choice = choose_adaptation(*run.model, train(), run.network().threads(), heartbeat);
  try {
    if (choice.tokens > 0) keep_choice(run.folder, weights, choice);
  } catch (const Error& error) {
    log_note("the rate is not kept: ", error.what());
  }
  return choice;
}

}  // namespace

std::optional<AdaptationChoice> kept_choice(const std::filesystem::path& run, std::uint64_t weights) {
  const std::optional<nlohmann::json> json = kept_json(run, adapt_file);
  if (!json) return std::nullopt;
  const std::string source = printable_path(run / adapt_file.name);
  const StrictObject object(*json, source);
  AdaptationChoice choice{.adaptation = {.rate = part_in(object, "rate"), .decay = part_in(object, "decay")},
                          .tokens = object.integer("tokens", 1)};
  const nlohmann::json& trials = object.field("trials");
  if (!trials.is_array() || trials.size() > 100) object.refuse("trials", "a list");
  for (const nlohmann::json& one : trials) {
    const StrictObject trial(one, source + ", trials");
    choice.trials.push_back({.rate = part_in(trial, "rate"), .loss = trial.real("loss")});
  }
  return object.hex("weights") == weights ? std::optional(std::move(choice)) : std::nullopt;
}

void keep_choice(const std::filesystem::path& run, std::uint64_t weights, const AdaptationChoice& choice) {
  nlohmann::ordered_json trials = nlohmann::ordered_json::array();
  for (const AdaptationTrial& trial : choice.trials)
    trials.push_back({{"rate", trial.rate}, {"loss", json_real(trial.loss)}});
  keep_json(run, adapt_file,
            {{"weights", json_hex(weights)},
             {"rate", choice.adaptation.rate},
             {"decay", choice.adaptation.decay},
             {"tokens", choice.tokens},
             {"trials", trials}});
}

std::vector<AdaptationChoice> adapt(LoadedRun& run, const std::function<TokenView()>& train,
                                    const Heartbeat& heartbeat) {
  std::vector<AdaptationChoice> choices;
  std::vector<Adaptation> adaptations;
  for (LoadedRun* member : run.members()) {
    choices.push_back(adaptation_of(*member, train, heartbeat));
    adaptations.push_back(choices.back().adaptation);
  }
  run.adapt(adaptations);
  return choices;
}

std::string to_text(const AdaptationChoice& choice, Units units) {
  const std::string rates =
      "at rate " + short_number(choice.adaptation.rate) + " and decay " + short_number(choice.adaptation.decay);
  if (choice.tokens == 0) return rates + "; the train split is too short to choose the rate by";
  return rates + ", the rate chosen on the last " + tokens_text(choice.tokens, units) + " of the train split";
}

nlohmann::ordered_json to_json(const AdaptationChoice& choice) {
  nlohmann::ordered_json trials = nlohmann::ordered_json::array();
  for (const AdaptationTrial& trial : choice.trials) trials.push_back({{"rate", trial.rate}, {"loss", trial.loss}});
  return {{"rate", choice.adaptation.rate},
          {"decay", choice.adaptation.decay},
          {"chosen_on_tokens", choice.tokens},
          {"trials", trials}};
}

}  // namespace chargpt
