#include "report/json_text.h"

#include <nlohmann/json.hpp>

namespace chargpt {

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json foreign_json(std::string_view text) {
  using Json = nlohmann::ordered_json;
  constexpr int deepest = 16;
  const auto is_kept = [](int depth, Json::parse_event_t, const Json&) { return depth <= deepest; };
  return Json::parse(text, is_kept, /*allow_exceptions=*/false);
}

}  // namespace chargpt
