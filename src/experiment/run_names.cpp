#include "experiment/run_names.h"

#include <algorithm>
#include <set>

#include "run/run_folder.h"

namespace chargpt {
namespace {

std::string without_spaces(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return folder_name(std::move(name));
}

}  // namespace

std::vector<std::string> distinct_names(const std::vector<ResolvedConfig>& configs) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const ResolvedConfig& resolved : configs) {
    std::string name = resolved.config.name;
    for (int n = 2; !taken.insert(without_spaces(name)).second; ++n)
      name = resolved.config.name + "-" + std::to_string(n);
    names.push_back(name);
  }
  return names;
}

std::string seed_folder_name(const std::string& name, std::int64_t seed) {
  return without_spaces(name) + "-seed" + std::to_string(seed);
}

}  // namespace chargpt
