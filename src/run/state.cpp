#include "run/state.h"

#include <cmath>
#include <optional>

#include "base/names.h"
#include "report/format.h"
#include "run/strict_json.h"

namespace chargpt {
namespace {

/// Calls field(name, value) for each member, in the order of the file.
template <class State, class Field>
void visit_fields(State& state, const Field& field) {
  field("step", state.step);
  field("max_iters", state.max_iters);
  field("seconds", state.seconds);
  field("training_seconds", state.training_seconds);
  field("setup_seconds", state.setup_seconds);
  field("closing_seconds", state.closing_seconds);
  field("val_windows", state.val_windows);
  field("exact", state.exact);
  field("val_loss", state.val_loss);
  field("averaged_val_loss", state.averaged_val_loss);
  field("best_val_loss", state.best_val_loss);
  field("best_step", state.best_step);
  field("evals_without_improvement", state.evals_without_improvement);
  field("ended", state.ended);
  field("data", state.data);
  field("parameters", state.parameters);
  field("start_symbol", state.start_symbol);
  field("program_version", state.program_version);
  field("libtorch_version", state.libtorch_version);
  field("cpu_capability", state.cpu_capability);
  field("device", state.device);
  field("engine", state.engine);
  field("threads", state.threads);
  field("ranks", state.ranks);
  field("teachers", state.teachers);
}

struct Writer {
  Json& json;
  void operator()(const char* name, std::int64_t value) const { json[name] = value; }
  void operator()(const char* name, double value) const { json[name] = json_real(value); }
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
    const StrictObject data = object.object(name);
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
  return state.best_step < 0 || std::isnan(state.best_val_loss) ? std::numeric_limits<double>::infinity()
                                                                : state.best_val_loss;
}

}  // namespace chargpt
