#include "cli/runs/adaptation.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/runs/figures.h"
#include "report/format.h"
#include "report/log.h"
#include "run/kept_adaptation.h"

namespace chargpt {

namespace {

std::uint64_t sum_of(const InferenceModel& model) {
  std::uint64_t sum = 0;
  for (const NamedParameter& parameter : model.parameters())
    sum = crc64(std::as_bytes(std::span(parameter.values, static_cast<std::size_t>(parameter.numel()))), sum);
  return sum;
}

/// What is kept for these weights.
std::optional<AdaptationChoice> kept_choice(const LoadedRun& run, std::uint64_t weights) {
  try {
    const std::optional<KeptAdaptation> kept = kept_adaptation(run.folder);
    if (!kept || kept->weights != weights) return std::nullopt;
    AdaptationChoice choice{.adaptation = {.rate = kept->rate, .decay = kept->decay}, .tokens = kept->tokens};
    for (const KeptAdaptation::Trial& trial : kept->trials) choice.trials.push_back({trial.rate, trial.loss});
    return choice;
  } catch (const Error& error) {
    log_warning(std::string(error.what()) + "; the rate is chosen anew");
    return std::nullopt;
  }
}

void keep(const LoadedRun& run, std::uint64_t weights, const AdaptationChoice& choice) {
  KeptAdaptation kept{
      .weights = weights, .rate = choice.adaptation.rate, .decay = choice.adaptation.decay, .tokens = choice.tokens};
  for (const AdaptationTrial& trial : choice.trials) kept.trials.push_back({trial.rate, trial.loss});
  try {
    keep_adaptation(run.folder, kept);
  } catch (const Error& error) {
    log_note(std::string("the rate is not kept: ") + error.what());
  }
}

}  // namespace

AdaptationChoice adaptation_of(LoadedRun& run, const std::function<TokenView()>& train, const Heartbeat& heartbeat) {
  const std::uint64_t weights = sum_of(*run.model);
  if (std::optional<AdaptationChoice> kept = kept_choice(run, weights)) return *kept;
  const AdaptationChoice choice = choose_adaptation(*run.model, train(), run.network().threads(), heartbeat);
  if (choice.tokens > 0) keep(run, weights, choice);
  return choice;
}

std::string to_text(const AdaptationChoice& choice, Units units) {
  const std::string rates =
      "at rate " + short_number(choice.adaptation.rate) + " and decay " + short_number(choice.adaptation.decay);
  if (choice.tokens == 0) return rates + "; the train split is too short to choose the rate by";
  return rates + ", the rate chosen on the last " + format_count(choice.tokens) + " " + unit_word(units) +
         "s of the train split";
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
