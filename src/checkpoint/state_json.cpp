// state.json: RunState as text and back; see checkpoint.h.
#include "checkpoint/checkpoint.h"
#include "checkpoint/strict_json.h"

namespace chargpt {
namespace {

RunProgress progress_from_json(const StrictObject& object) {
  RunProgress progress;
  progress.step = object.integer("step", 0);
  progress.max_iters = object.integer("max_iters", 0);
  progress.seconds = object.real("seconds");
  if (object.has("training_seconds")) progress.training_seconds = object.real("training_seconds");
  progress.val_loss = object.real("val_loss");
  if (object.has("averaged_val_loss")) progress.averaged_val_loss = object.real("averaged_val_loss");
  progress.best_val_loss = object.real("best_val_loss");
  progress.best_step = object.integer("best_step", RunProgress::no_step);
  progress.evals_without_improvement = object.integer("evals_without_improvement", 0);
  if (object.has("rollbacks")) {
    progress.rollbacks = object.integer("rollbacks", 0);
    progress.rollbacks_in_a_row = object.integer("rollbacks_in_a_row", 0);
    progress.rollback_step = object.integer("rollback_step", RunProgress::no_step);
    const StrictObject trend = object.object("trend");
    progress.trend = {trend.real("mean"), trend.real("variance"), trend.integer("count", 0)};
  }
  if (object.has("skips_in_a_row")) progress.skips_in_a_row = object.integer("skips_in_a_row", 0);
  if (object.has("initial_weights")) progress.initial_weights = object.integer("initial_weights", 1);
  if (object.has("ended")) progress.ended = enum_value<Ending>(object.text("ended")).value_or(Ending::unknown);
  return progress;
}

std::vector<TeacherWeights> teachers_from_json(const StrictObject& object) {
  std::vector<TeacherWeights> teachers;
  const nlohmann::json& list = object.field("teachers");
  if (!list.is_array()) object.refuse("teachers", "a list");
  for (const nlohmann::json& each : list) {
    const StrictObject teacher(each, object.source());
    teachers.push_back({teacher.text("checkpoint"), teacher.hex("crc64")});
  }
  return teachers;
}

nlohmann::ordered_json to_json(const std::vector<TeacherWeights>& teachers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TeacherWeights& teacher : teachers)
    list.push_back({{"checkpoint", teacher.checkpoint}, {"crc64", json_hex(teacher.crc64)}});
  return list;
}

RunConditions conditions_from_json(const StrictObject& object) {
  RunConditions conditions;
  const StrictObject data = object.object("data");
  conditions.data = {data.integer("tokens", 0), data.hex("crc64")};
  conditions.parameters = object.integer("parameters", 0);
  conditions.start_symbol = object.integer("start_symbol", 0);
  conditions.program_version = object.text("program_version");
  conditions.libtorch_version = object.text("libtorch_version");
  conditions.cpu_capability = object.text("cpu_capability");
  conditions.device = object.text("device");
  conditions.engine = object.text("engine");
  conditions.threads = object.integer("threads", 0);
  if (object.has("ranks")) conditions.ranks = object.integer("ranks", 1);
  if (object.has("teachers")) conditions.teachers = teachers_from_json(object);
  return conditions;
}

}  // namespace

nlohmann::ordered_json to_json(const RunState& state) {
  nlohmann::ordered_json json = {{"version", state.version},
                                 {"step", state.step},
                                 {"max_iters", state.max_iters},
                                 {"seconds", json_real(state.seconds)},
                                 {"training_seconds", json_real(state.training_seconds)},
                                 {"val_loss", json_real(state.val_loss)},
                                 {"averaged_val_loss", json_real(state.averaged_val_loss)},
                                 {"best_val_loss", json_real(state.best_val_loss)},
                                 {"best_step", state.best_step},
                                 {"evals_without_improvement", state.evals_without_improvement},
                                 {"trend",
                                  {{"mean", json_real(state.trend.mean)},
                                   {"variance", json_real(state.trend.variance)},
                                   {"count", state.trend.count}}},
                                 {"rollbacks", state.rollbacks},
                                 {"rollbacks_in_a_row", state.rollbacks_in_a_row},
                                 {"rollback_step", state.rollback_step},
                                 {"skips_in_a_row", state.skips_in_a_row},
                                 {"ended", enum_name(state.ended)},
                                 {"initial_weights", state.initial_weights},
                                 {"data", {{"tokens", state.data.tokens}, {"crc64", json_hex(state.data.crc64)}}},
                                 {"parameters", state.parameters},
                                 {"start_symbol", state.start_symbol},
                                 {"program_version", state.program_version},
                                 {"libtorch_version", state.libtorch_version},
                                 {"cpu_capability", state.cpu_capability},
                                 {"device", state.device},
                                 {"engine", state.engine},
                                 {"threads", state.threads},
                                 {"ranks", state.ranks}};
  if (!state.teachers.empty()) json["teachers"] = to_json(state.teachers);
  return json;
}

RunState run_state_from_json(const nlohmann::json& json, const std::string& source) {
  const StrictObject object(json, source);
  const int version = object.version("run state", RunState::current_version);
  return {progress_from_json(object), conditions_from_json(object), version};
}

}  // namespace chargpt
