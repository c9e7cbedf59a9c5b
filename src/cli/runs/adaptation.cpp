#include "cli/runs/adaptation.h"

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/runs/figures.h"

namespace chargpt {

namespace {

/// The rate, above 0 and at most 1; nullopt for another word.
std::optional<double> rate_of(const std::string& word) {
  const std::optional<double> rate = parsed_number<double>(word);
  return rate && *rate > 0 && *rate <= 1 ? rate : std::nullopt;
}

/// Parses AdaptArguments::word. Throws Error usage if it is invalid.
Adaptation adaptation_of(const std::string& word, AdaptTakes takes) {
  if (const std::optional<double> rate = rate_of(word)) return {.rate = *rate};
  if (word == "auto" && takes == AdaptTakes::rate_or_auto) return {};
  throw Error(ExitCode::usage, "--adapt=", printable(word), " is not understood; it takes a rate above 0, at most 1",
              takes == AdaptTakes::rate_or_auto ? ", or auto" : "");
}

}  // namespace

void add_adapt_option(Options& options, AdaptArguments& adapt, AdaptTakes takes) {
  const bool has_auto = takes == AdaptTakes::rate_or_auto;
  const std::string standard = short_number(Adaptation{}.rate);
  options
      .add("--adapt", adapt.word,
           "learn from the text while scoring it (so do --counts): each character is predicted first, then "
           "learned from; the run's weights do not change. RATE is the rate of learning (default " +
               standard + ")" + (has_auto ? "; auto tries four on the end of the train split" : ""))
      .value_name(has_auto ? "[=RATE|=auto]" : "[=RATE]")
      .default_text("")
      .alone_means(standard);
  options.before_run([&options, &adapt, takes, has_auto] {
    if (adapt.word.empty()) return;
    for (const std::string& word : options.find("RUN").values())
      if ((rate_of(word) || (has_auto && word == "auto")) && !is_there(word))
        throw Error(ExitCode::usage, "'", word, "' is not a run; write --adapt=", word);
    adapt.adaptation = adaptation_of(adapt.word, takes);
  });
}

std::string to_text(const AdaptationChoice& choice, Units units) {
  const std::string rates =
      "at rate " + short_number(choice.adaptation.rate) + " and decay " + short_number(choice.adaptation.decay);
  if (choice.tokens == 0) return rates;
  return rates + ", the rate chosen on the last " + tokens_text(choice.tokens, units) + " of the train split";
}

nlohmann::ordered_json to_json(const AdaptationChoice& choice) {
  nlohmann::ordered_json json = {{"rate", choice.adaptation.rate}, {"decay", choice.adaptation.decay}};
  if (choice.tokens == 0) return json;
  json["chosen_on_tokens"] = choice.tokens;
  for (const AdaptationTrial& trial : choice.trials)
    json["trials"].push_back({{"rate", trial.rate}, {"loss", trial.loss}});
  return json;
}

}  // namespace chargpt
