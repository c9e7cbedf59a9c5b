#include "config/changed_options.h"

#include <nlohmann/json.hpp>

#include "base/line_of.h"
#include "config/load.h"

namespace chargpt {

std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section) {
  const nlohmann::ordered_json before = to_json(then), here = to_json(now);
  std::vector<std::string> lines;
  for (const auto& [name, options] : here.items()) {
    if (!options.is_object() || (!section.empty() && name != section)) continue;
    for (const auto& [key, value] : options.items()) {
      const nlohmann::ordered_json& old = before.at(name).at(key);
      if (old != value) lines.push_back(line_of(name, ".", key, " ", old.dump(), " -> ", value.dump()));
    }
  }
  return lines;
}

}  // namespace chargpt
