// What a search found: as a config with comments, as JSON, as a table.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "config/load.h"
#include "experiment/tune.h"
#include "report/format.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

/// Three digits are more than a search of this size can tell.
double rounded(double value) {
  char digits[32];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), value, std::chars_format::scientific, 2);
  std::from_chars(digits, written.ptr, value);
  return value;
}

/// A tuned length counts steps of the winner that take as long as the config's own length did.
void set_length(const Tuning& tuning, TrainConfig& train, std::int64_t tokens_per_step) {
  if (train.max_seconds > 0 || tuning.best().rounds.empty()) return;
  const Trained& last = tuning.best().rounds.back();
  const double steps = std::max(1.0, std::round(static_cast<double>(last.steps) * tuning.full_seconds / last.seconds));
  if (train.max_epochs > 0)
    train.max_epochs = rounded(steps * static_cast<double>(tokens_per_step) / static_cast<double>(tuning.train_tokens));
  if (train.max_iters > 0) train.max_iters = static_cast<std::int64_t>(steps);
}

std::string loss_cell(const Trial& trial, std::size_t round) {
  for (const Trained& trained : trial.rounds)
    if (trained.round == round) return trained.failure ? "failed" : format_fixed(trained.loss, 4);
  return "";
}

bool is_length(const std::string& section, const std::string& key) {
  return section == "train" && (key == "max_iters" || key == "max_epochs" || key == "max_seconds");
}

/// Options of one section in which `options` differ from the `base` that the file extends, a line each. A file that
/// sets one limit of the length clears the others, so it sets all of them or none.
std::string section_lines(const std::string& section, const Json& options, const Json& base, const Json& before) {
  bool other_length = false;
  for (const auto& [key, value] : options.items()) other_length |= is_length(section, key) && value != base[key];
  std::string lines, comment;
  for (const auto& [key, value] : options.items()) {
    const bool stated = is_length(section, key) ? other_length && value != 0 : value != base[key];
    if (!stated) continue;
    if (!lines.empty()) lines += "," + comment + "\n";  // of the option before
    lines += "    \"" + key + "\": " + value.dump();
    comment = value != before[key] ? "  // " + section + "." + key + " was " + before[key].dump() : "";
  }
  return lines.empty() ? "" : lines + comment + "\n";
}

std::string verdict(const Tuning& tuning) {
  const Trial &best = tuning.best(), &before = tuning.before();
  if (best.rounds.empty()) return "nothing was trained";
  if (best.candidate == Candidate{}) return "no candidate had a lower loss after the same time";
  const std::string loss = format_fixed(best.rounds.back().loss, 4);
  if (!before.rounds.empty() && !before.measured()) return "loss " + loss + "; the original config failed";
  if (before.last_round() != best.last_round())
    return "loss " + loss + "; there was no time to train the original config for as long";
  return "loss " + loss + ", the original config " + format_fixed(before.rounds.back().loss, 4) + ", each after " +
         format_duration(best.rounds.back().seconds);
}

std::string comment_of(const Tuning& tuning, const std::string& command) {
  const auto trained = std::ranges::count_if(tuning.trials, [](const Trial& trial) { return !trial.rounds.empty(); });
  const std::string others = trained == std::ssize(tuning.trials)
                                 ? ""
                                 : line_of(" (of ", tuning.trials.size(),
                                           tuning.complete ? "; there was no time for more)" : "; it was stopped)");
  std::ostringstream text;
  text << "// Found by `" << command << "`: " << describe(tuning.best().candidate) << ".\n"
       << "// The best of " << format_count(trained, "candidate") << others << ": " << verdict(tuning) << ",\n"
       << "// on the last " << format_count(tuning.scored_tokens) << " " << enum_name(tuning.start.data.units)
       << " of the train split, which none was trained on; the validation split was not used.\n"
       << "// One seed each, and the lowest of many, so biased low: a difference of a few hundredths may be luck. "
          "Lengths suit the machine it was found on.\n";
  return text.str();
}

Json json_of(const Trained& trained) {
  Json json = {
      {"round", trained.round}, {"seconds", trained.seconds}, {"updates", trained.steps}, {"loss", trained.loss}};
  if (trained.failure) json["failure"] = trained.failure->what();
  return json;
}

Json json_of(const Trial& trial) {
  const Candidate& c = trial.candidate;
  Json json = {{"candidate", describe(c)},   {"rates", c.rates},          {"groups", c.groups},
               {"width", c.width},           {"depth", c.depth},          {"batch", c.batch},
               {"params", trial.parameters}, {"trainings", Json::array()}};
  for (const Trained& trained : trial.rounds) json["trainings"].push_back(json_of(trained));
  return json;
}

}  // namespace

Config tuned_config(const Tuning& tuning) {
  Config config = tuning.best().config;
  config.name = tuning.start.name + "-tuned";
  if (tuning.best().candidate == Candidate{}) return config;
  TrainConfig& train = config.train;
  set_length(tuning, train, tokens_per_step(config));
  train.learning_rate = rounded(train.learning_rate);
  train.min_lr = rounded(train.min_lr);
  for (GroupConfig& group : train.groups)
    if (group.learning_rate) group.learning_rate = rounded(*group.learning_rate);
  const bool decays = train.max_seconds == 0 && train.lr_schedule != LrSchedule::constant;
  if (decays) train.lr_decay_iters = 0;  // as in the search: the decay ends with the run
  if (train.max_iters > 0) train.warmup_iters = std::min(train.warmup_iters, train.max_iters / 10);
  return config;
}

std::string tuned_text(const Tuning& tuning, const TunedFrom& from) {
  const Json base = to_json(from.base), options = to_json(tuned_config(tuning)), before = to_json(tuning.start);
  std::string text = comment_of(tuning, from.command) + "{\n  \"extends\": " + Json(from.extends).dump() +
                     ",\n  \"name\": " + options["name"].dump();
  for (const auto& [section, values] : options.items()) {
    if (!values.is_object()) continue;
    const std::string lines = section_lines(section, values, base[section], before[section]);
    if (!lines.empty()) text += ",\n  \"" + section + "\": {\n" + lines + "  }";
  }
  return text + "\n}\n";
}

nlohmann::ordered_json to_json(const Tuning& tuning) {
  Json json = {{"config", tuning.start.name},
               {"scored_on", "the last part of the train split, held out"},
               {"scored_tokens", tuning.scored_tokens},
               {"memory_cap_bytes", tuning.memory},
               {"full_seconds", tuning.full_seconds},
               {"spent_seconds", tuning.spent_seconds},
               {"complete", tuning.complete},
               {"range_test", {{"centre", tuning.centre}, {"points", Json::array()}}},
               {"rounds", Json::array()},
               {"trials", Json::array()}};
  for (const RangePoint& point : tuning.range)
    json["range_test"]["points"].push_back({{"factor", point.factor}, {"loss", point.loss}});
  for (const Round& round : tuning.rounds)
    json["rounds"].push_back({{"candidates", round.candidates}, {"seconds", round.seconds}});
  for (const Trial& trial : tuning.trials) json["trials"].push_back(json_of(trial));
  json["best"] = {{"candidate", describe(tuning.best().candidate)}, {"config", to_json(tuned_config(tuning))}};
  json["verdict"] = verdict(tuning);
  return json;
}

Table to_table(const Tuning& tuning) {
  std::vector<std::string> headings{"candidate", "parameters"};
  for (const Round& round : tuning.rounds) headings.push_back("after " + format_duration(round.seconds));
  Table table(headings);
  for (const Trial& trial : tuning.trials) {
    std::vector<std::string> cells{describe(trial.candidate), format_count(trial.parameters)};
    for (std::size_t round = 1; round <= tuning.rounds.size(); ++round) cells.push_back(loss_cell(trial, round));
    table.add(cells);
  }
  return table;
}

}  // namespace chargpt
