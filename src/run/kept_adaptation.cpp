#include "run/kept_adaptation.h"

#include <cmath>

#include "base/open_folder.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "report/json_text.h"
#include "run/run_files.h"

namespace chargpt {
namespace {

constexpr const char* name = "adapt.json";
constexpr const char* format = "chargpt adaptation";
constexpr int current_version = 1;
constexpr std::uint64_t longest = 1 << 16;

double in_range(const StrictObject& object, const std::string& field, double most) {
  const double value = object.real(field);
  if (!(value >= 0 && value <= most)) object.refuse(field, "a number from 0 to " + short_number(most));
  return value;
}

}  // namespace

std::optional<KeptAdaptation> kept_adaptation(const std::filesystem::path& run) {
  const OpenFolder folder(run);
  if (folder.type(name) == std::filesystem::file_type::not_found) return std::nullopt;
  const std::string source = printable_path(run / name);
  const nlohmann::json json = parse_strict_json(folder.read(name, longest), source);
  const StrictObject object(json, source);
  if (object.text("format") != format) object.refuse("format", format);
  object.version("adaptation format", current_version);
  KeptAdaptation kept{.weights = object.hex("weights"),
                      .rate = in_range(object, "rate", 1),
                      .decay = in_range(object, "decay", 1),
                      .tokens = object.integer("tokens", 1)};
  if (!object.field("trials").is_array() || object.field("trials").size() > 100) object.refuse("trials", "a list");
  for (const nlohmann::json& one : object.field("trials")) {
    const StrictObject trial(one, source + ", trials");
    kept.trials.push_back({.rate = in_range(trial, "rate", 1), .loss = trial.real("loss")});
  }
  return kept;
}

void keep_adaptation(const std::filesystem::path& run, const KeptAdaptation& adaptation) {
  if (!is_run(run)) return;
  nlohmann::ordered_json trials = nlohmann::ordered_json::array();
  for (const KeptAdaptation::Trial& trial : adaptation.trials)
    trials.push_back({{"rate", trial.rate}, {"loss", json_real(trial.loss)}});
  OpenFolder(run).write(name, json_text({{"format", format},
                                         {"version", current_version},
                                         {"weights", json_hex(adaptation.weights)},
                                         {"rate", adaptation.rate},
                                         {"decay", adaptation.decay},
                                         {"tokens", adaptation.tokens},
                                         {"trials", trials}}));
}

}  // namespace chargpt
