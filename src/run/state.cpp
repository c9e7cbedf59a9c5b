#include "run/state.h"

#include <cmath>
#include <optional>

#include "base/names.h"
#include "base/quote.h"
#include "report/format.h"
#include "run/strict_json.h"

namespace chargpt {
namespace {

/// Calls field(name, value) for each member, in the order of the file.
template <class State, class Field>
void visit_fields(State& state, const Field& field) {
#define CHARGPT_STATE_VISIT(TYPE, NAME, ...) field(#NAME, state.NAME);
  CHARGPT_RUN_PROGRESS(CHARGPT_STATE_VISIT)
  CHARGPT_RUN_CONDITIONS(CHARGPT_STATE_VISIT)
#undef CHARGPT_STATE_VISIT
}

struct Writer {
  Json& json;
  void operator()(const char* name, std::int64_t value) const { json[name] = value; }
  /// JSON has no infinities and NaN, so these become strings. Finite numbers come back bit for bit.
  void operator()(const char* name, double value) const {
    json[name] = std::isfinite(value) ? Json(value) : Json(format_fixed(value, 0));
  }
  void operator()(const char* name, bool value) const { json[name] = value; }
  void operator()(const char* name, const std::string& value) const { json[name] = value; }
  void operator()(const char* name, Ending value) const { json[name] = enum_name(value); }
  void operator()(const char* name, const Fingerprint& data) const {
    json[name] = {{"tokens", data.tokens}, {"crc64", json_hex(data.crc64)}};
  }
  void operator()(const char* name, const std::vector<TeacherWeights>& teachers) const {
    json[name] = Json::array();
    for (const TeacherWeights& teacher : teachers)
      json[name].push_back({{"name", teacher.name}, {"step", teacher.step}, {"crc64", json_hex(teacher.crc64)}});
  }
};

struct Reader {
  const StrictObject& object;
  /// The default of a number is also its minimum.
  void operator()(const char* name, std::int64_t& value) const { value = object.integer(name, value); }
  void operator()(const char* name, double& value) const { value = object.real(name); }
  /// If absent, as in the first checkpoints of this format, the default stays.
  void operator()(const char* name, bool& value) const {
    if (!object.has(name)) return;
    if (!object.field(name).is_boolean()) object.refuse(name, "true or false");
    value = object.field(name);
  }
  void operator()(const char* name, std::string& value) const { value = object.text(name); }
  void operator()(const char* name, Ending& value) const {
    const std::optional<Ending> ended = enum_value<Ending>(object.text(name));
    if (!ended) object.refuse(name, "a reason to end");
    value = *ended;
  }
  void operator()(const char* name, Fingerprint& value) const {
    const StrictObject data(object.field(name), line_of(object.source(), ": field '", name, "'"));
    value = {data.integer("tokens", 0), data.hex("crc64")};
  }
  void operator()(const char* name, std::vector<TeacherWeights>& teachers) const {
    if (!object.field(name).is_array()) object.refuse(name, "a list");
    for (const nlohmann::json& each : object.field(name)) {
      const StrictObject teacher(each, object.source());
      teachers.push_back({teacher.text("name"), teacher.integer("step", 0), teacher.hex("crc64")});
    }
  }
};

}  // namespace

Json to_json(const RunState& state) {
  Json json;
  visit_fields(state, Writer{json});
  return json;
}

RunState run_state_from_json(const nlohmann::json& json, const std::string& source) {
  RunState state;
  const StrictObject object(json, source);
  visit_fields(state, Reader{object});
  return state;
}

double evaluated_loss(const RunState& state) {
  return std::fmin(HUGE_VAL, std::fmin(state.val_loss, state.averaged_val_loss));  // fmin ignores a NaN
}

double best_loss(const RunState& state) {
  return state.best_step < 0 || std::isnan(state.best_val_loss) ? HUGE_VAL : state.best_val_loss;
}

}  // namespace chargpt
