#include "cli/adaptation.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "base/open_folder.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "cli/figures.h"
#include "report/format.h"
#include "report/json_text.h"
#include "report/log.h"
#include "run/run_files.h"

namespace chargpt {

namespace {

/// In the run folder, hostile until read.
constexpr const char* file = "adapt.json";
constexpr const char* format = "chargpt adaptation";
constexpr int current_version = 1;
constexpr std::uint64_t most_bytes = 1 << 16;

std::uint64_t sum_of(const InferenceModel& model) {
  std::uint64_t sum = 0;
  for (const NamedParameter& parameter : model.parameters())
    sum = crc64(std::as_bytes(std::span(parameter.values, static_cast<std::size_t>(parameter.numel()))), sum);
  return sum;
}

double in_range(const StrictObject& object, const std::string& field, double most) {
  const double value = object.real(field);
  if (!(value >= 0 && value <= most)) object.refuse(field, "a number from 0 to " + short_number(most));
  return value;
}

/// What the file says of these weights; none where there is no file, or it is of others. Error data where it is
/// damaged or no such file, io where it cannot be read.
std::optional<AdaptationChoice> read_choice(const std::filesystem::path& run, std::uint64_t weights) {
  const OpenFolder folder(run);
  if (folder.type(file) == std::filesystem::file_type::not_found) return std::nullopt;
  const std::string source = printable_path(run / file);
  const nlohmann::json json = parse_strict_json(folder.read(file, most_bytes), source);
  const StrictObject object(json, source);
  if (object.text("format") != format) object.refuse("format", format);
  object.version("adaptation format", current_version);
  AdaptationChoice choice{.adaptation = {.rate = in_range(object, "rate", 1), .decay = in_range(object, "decay", 1)},
                          .tokens = object.integer("tokens", 1)};
  if (!object.field("trials").is_array() || object.field("trials").size() > 100) object.refuse("trials", "a list");
  for (const nlohmann::json& one : object.field("trials")) {
    const StrictObject trial(one, source + ", trials");
    choice.trials.push_back({.rate = in_range(trial, "rate", 1), .loss = trial.real("loss")});
  }
  if (object.hex("weights") != weights) return std::nullopt;
  return choice;
}

std::optional<AdaptationChoice> kept_choice(const LoadedRun& run, std::uint64_t weights) {
  try {
    return read_choice(run.folder, weights);
  } catch (const Error& error) {
    log_warning(std::string(error.what()) + "; the rate is chosen anew");
    return std::nullopt;
  }
}

void keep(const LoadedRun& run, std::uint64_t weights, const AdaptationChoice& choice) {
  if (!is_run(run.folder)) return;
  nlohmann::ordered_json trials = nlohmann::ordered_json::array();
  for (const AdaptationTrial& trial : choice.trials)
    trials.push_back({{"rate", trial.rate}, {"loss", json_real(trial.loss)}});
  try {
    OpenFolder(run.folder)
        .write(file, json_text({{"format", format},
                                {"version", current_version},
                                {"weights", json_hex(weights)},
                                {"rate", choice.adaptation.rate},
                                {"decay", choice.adaptation.decay},
                                {"tokens", choice.tokens},
                                {"trials", trials}}));
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
