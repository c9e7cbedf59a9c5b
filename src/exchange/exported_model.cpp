#include "exchange/exported_model.h"

#include "base/error.h"

namespace chargpt {

std::optional<NamedParameter> find_parameter(const ExportedModel& exported, const std::string& name) {
  for (const NamedParameter& one : exported.model.parameters())
    if (one.name == name) return one;
  return std::nullopt;
}

NamedParameter parameter(const ExportedModel& exported, const std::string& name) {
  const auto found = find_parameter(exported, name);
  if (!found) throw Error(ExitCode::internal, "a model to export has no parameter " + name);
  return *found;
}

}  // namespace chargpt
