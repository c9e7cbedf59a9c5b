#include "experiment/run_names.h"

#include <set>

#include "run/run_folder.h"

namespace chargpt {

std::vector<std::string> distinct_names(const std::vector<ResolvedConfig>& configs) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const ResolvedConfig& resolved : configs) {
    std::string name = resolved.config.name;
    for (int n = 2; !taken.insert(folder_name(name)).second; ++n) name = resolved.config.name + "-" + std::to_string(n);
    names.push_back(name);
  }
  return names;
}

}  // namespace chargpt
