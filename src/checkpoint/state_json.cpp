#include "checkpoint/state_json.h"

#include "checkpoint/strict_json.h"

namespace chargpt {

namespace {

/// Checkpoints of before there were rollbacks have none of these fields.
void read_rollbacks(const StrictObject& object, RunState& state) {
  if (!object.has("rollbacks")) return;
  state.rollbacks = object.integer("rollbacks", 0);
  state.rollbacks_in_a_row = object.integer("rollbacks_in_a_row", 0);
  state.rollback_step = object.integer("rollback_step", RunState::no_step);
  const StrictObject trend = object.object("trend");
  state.trend.mean = trend.real("mean");
  state.trend.variance = trend.real("variance");
  state.trend.count = trend.integer("count", 0);
}

}  // namespace

nlohmann::ordered_json to_json(const RunState& state) {
  return {{"version", state.version},
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
          {"data", {{"tokens", state.data.tokens}, {"crc64", json_hex(state.data.crc64)}}},
          {"parameters", state.parameters},
          {"start_symbol", state.start_symbol},
          {"program_version", state.program_version},
          {"libtorch_version", state.libtorch_version},
          {"cpu_capability", state.cpu_capability},
          {"device", state.device},
          {"engine", state.engine},
          {"threads", state.threads}};
}

RunState run_state_from_json(const nlohmann::json& json, const std::string& source) {
  const StrictObject object(json, source);
  RunState state;
  state.version = object.version("run state", RunState::current_version);
  state.step = object.integer("step", 0);
  state.max_iters = object.integer("max_iters", 0);
  state.seconds = object.real("seconds");
  if (object.has("training_seconds")) state.training_seconds = object.real("training_seconds");  // absent in early ones
  state.val_loss = object.real("val_loss");
  if (object.has("averaged_val_loss")) state.averaged_val_loss = object.real("averaged_val_loss");
  state.best_val_loss = object.real("best_val_loss");
  state.best_step = object.integer("best_step", -1);
  state.evals_without_improvement = object.integer("evals_without_improvement", 0);
  read_rollbacks(object, state);
  if (object.has("skips_in_a_row")) state.skips_in_a_row = object.integer("skips_in_a_row", 0);
  const StrictObject data = object.object("data");
  state.data.tokens = data.integer("tokens", 0);
  state.data.crc64 = data.hex("crc64");
  state.parameters = object.integer("parameters", 0);
  state.start_symbol = object.integer("start_symbol", 0);
  state.program_version = object.text("program_version");
  state.libtorch_version = object.text("libtorch_version");
  state.cpu_capability = object.text("cpu_capability");
  state.device = object.text("device");
  state.engine = object.text("engine");
  state.threads = object.integer("threads", 0);
  return state;
}

}  // namespace chargpt
