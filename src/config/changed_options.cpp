#include "config/changed_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quote.h"
#include "config/load.h"

namespace chargpt {

std::vector<DifferingOption> differing_options(const std::vector<Config>& configs, const std::string& section) {
  std::vector<nlohmann::ordered_json> all;
  for (const Config& config : configs) all.push_back(to_json(config));
  std::vector<DifferingOption> found;
  if (all.empty()) return found;
  for (const auto& [name, options] : all[0].items()) {
    if (!options.is_object() || (!section.empty() && name != section)) continue;
    for (const auto& [key, value] : options.items()) {
      DifferingOption option{.key = line_of(name, ".", key), .values = {}};
      for (const auto& one : all) option.values.push_back(one.at(name).at(key).dump());
      const bool same = std::ranges::all_of(option.values, [&](const auto& text) { return text == option.values[0]; });
      if (!same) found.push_back(std::move(option));
    }
  }
  return found;
}

std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section) {
  std::vector<std::string> lines;
  for (const DifferingOption& option : differing_options({then, now}, section))
    lines.push_back(line_of(option.key, " ", option.values[0], " -> ", option.values[1]));
  return lines;
}

void leave_out(std::vector<std::string>& changes, std::initializer_list<std::string_view> options) {
  std::erase_if(changes, [options](const std::string& line) {
    return std::ranges::any_of(options, [&line](std::string_view option) {
      return line.starts_with(option) && (option.ends_with('.') || line[option.size()] == ' ');
    });
  });
}

}  // namespace chargpt
