// --adapt of `eval` and `score`: whether a run's networks learn from the text that they score, and at which rate.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/options.h"
#include "config/config.h"
#include "evaluate/adaptation_choice.h"

namespace chargpt {

struct AdaptArguments {
  std::string word;                      ///< a rate, or "auto"; empty without the option
  std::optional<Adaptation> adaptation;  ///< set once the command line is parsed; for "auto" the default rate
  bool is_auto() const { return word == "auto"; }
};

/// Whether --adapt takes a rate, or "auto" too.
enum class AdaptTakes { rate, rate_or_auto };

/// Adds --adapt; call after adding RUN. Throws Error usage for an invalid value, and for a rate given as a separate
/// word, which would name a run.
void add_adapt_option(Options& options, AdaptArguments& adapt, AdaptTakes takes);

/// "at rate 0.0002 and decay 0.0005, the rate chosen on the last 50,000 characters of the train split"
std::string to_text(const AdaptationChoice& choice, Units units);

nlohmann::ordered_json to_json(const AdaptationChoice& choice);

}  // namespace chargpt
