// state.json and the strict reading of small JSON files.
#include "checkpoint/checkpoint.h"

#include <nlohmann/json.hpp>

#include "checkpoint/strict_json.h"
#include "failure.h"
#include "run_state.h"

using namespace chargpt;
using namespace std::string_literals;

namespace {

std::string parse_failure(const std::string& text) {
  return message_of(ExitCode::data, [&] { parse_strict_json(text, "f.json"); });
}

/// What is read of a state without these fields.
RunState without(const Names& names) {
  nlohmann::json json = to_json(state_of(5));
  for (const std::string& name : names) json.erase(name);
  return run_state_from_json(json, "state.json");
}

/// What reading a state says whose field `name` has been given `value`.
std::string state_failure(const std::string& name, const nlohmann::json& value) {
  nlohmann::json json = to_json(state_of(5));
  json[name] = value;
  return message_of(ExitCode::data, [&] { run_state_from_json(json, "state.json"); });
}

}  // namespace

TEST_CASE("a run state comes back from its text as it was, doubles bit for bit") {
  RunState state = state_of(5);
  state.seconds = 0.1 + 0.2;
  state.val_loss = std::nextafter(1.9, 2.0);
  state.best_val_loss = std::numeric_limits<double>::denorm_min();
  state.data.crc64 = UINT64_MAX;
  const RunState read = run_state_from_json(parse_strict_json(to_json(state).dump(2), "s"), "s");
  CHECK(read.seconds == state.seconds);
  CHECK(read.val_loss == state.val_loss);
  CHECK(read.best_val_loss == state.best_val_loss);
  CHECK(read.data == state.data);
  CHECK(to_json(read).dump() == to_json(state).dump());
}

TEST_CASE("the teachers of a run come back; anything but a list of them is refused") {
  RunState state = state_of(5);
  state.teachers = {{"/runs/a/checkpoints/step-00000400", 1}, {"/runs/\"b\"", UINT64_MAX}};
  nlohmann::json json = to_json(state);
  const std::vector<TeacherWeights> read = run_state_from_json(json, "s").teachers;
  REQUIRE(read.size() == 2);
  CHECK(read[0].checkpoint == state.teachers[0].checkpoint);
  CHECK(read[1].crc64 == UINT64_MAX);
  CHECK(to_json(run_state_from_json(json, "s")).dump() == to_json(state).dump());
  json["teachers"] = "a";
  CHECK_THROWS_WITH(run_state_from_json(json, "s"), Catch::Contains("field 'teachers' is"));
  json["teachers"] = {{{"checkpoint", "a"}}};
  CHECK_THROWS_WITH(run_state_from_json(json, "s"), Catch::Contains("crc64"));
}

TEST_CASE("the text of a run state") {
  RunState state = state_of(5);
  state.seconds = 1.5;
  state.training_seconds = 1.25;
  state.val_loss = std::numeric_limits<double>::quiet_NaN();
  state.best_val_loss = std::numeric_limits<double>::infinity();
  CHECK(to_json(state).dump() ==
        R"({"version":1,"step":5,"max_iters":1000,"seconds":1.5,"training_seconds":1.25,"val_loss":"nan",)"
        R"("averaged_val_loss":"inf","best_val_loss":"inf","best_step":-1,)"
        R"("evals_without_improvement":2,"trend":{"mean":0.0,"variance":0.0,"count":0},"rollbacks":0,)"
        R"("rollbacks_in_a_row":0,"rollback_step":-1,"skips_in_a_row":0,"ended":"unknown","initial_weights":1,)"
        R"("data":{"tokens":1000,"crc64":"fedcba9876543210"},"parameters":3,"start_symbol":1,)"
        R"("program_version":"0.1.0","libtorch_version":"2.13.0","cpu_capability":"AVX2",)"
        R"("device":"cpu","engine":"autograd","threads":2,"ranks":1})");
  const RunState read = run_state_from_json(to_json(state), "s");
  CHECK(std::isnan(read.val_loss));
  CHECK(std::isinf(read.best_val_loss));
}

TEST_CASE("what earlier programs did not keep of a run is read as if there had been none of it") {
  const RunState timeless = without({"training_seconds", "averaged_val_loss"}),
                 straight = without({"trend", "rollbacks", "rollbacks_in_a_row", "rollback_step"});
  CHECK(timeless.training_seconds == 0);
  CHECK(std::isinf(timeless.averaged_val_loss));
  CHECK(straight.rollback_step == RunState::no_step);
  CHECK(straight.trend.count == 0);
  CHECK(without({"initial_weights"}).initial_weights == 1);
  CHECK(without({"initial_weights", "skips_in_a_row"}).skips_in_a_row == 0);
  CHECK(without({"ranks"}).ranks == 1);
  nlohmann::json json = to_json(state_of(5));
  json["skips_in_a_row"] = 99;
  json["ranks"] = 3;
  CHECK(run_state_from_json(json, "state.json").skips_in_a_row == 99);
  CHECK(run_state_from_json(json, "state.json").ranks == 3);
  state_failure("ranks", 0);
}

TEST_CASE("why a run ended is kept, and not known of a state of before it was, or of a later program's reason") {
  RunState state = state_of(5);
  state.ended = Ending::patience;
  nlohmann::json json = to_json(state);
  CHECK(run_state_from_json(json, "s").ended == Ending::patience);
  json["ended"] = "boredom";
  CHECK(run_state_from_json(json, "s").ended == Ending::unknown);
  json.erase("ended");
  CHECK(run_state_from_json(json, "s").ended == Ending::unknown);
}

TEST_CASE("every other field must be there") {
  nlohmann::json whole = to_json(state_of(5));
  for (const char* later :
       {"skips_in_a_row", "ended", "training_seconds", "averaged_val_loss", "ranks", "initial_weights"})
    whole.erase(later);
  for (const auto& [name, value] : whole.items()) {
    if (name == "rollbacks") continue;  // says whether the other three are
    nlohmann::json json = whole;
    json.erase(name);
    CHECK(error_of([&] { run_state_from_json(json, "state.json"); }) ==
          data_error("state.json: field '" + name + "' is missing"));
  }
}

TEST_CASE("every field must be of its type and within its range") {
  CHECK(state_failure("step", "5") == "state.json: field 'step' is \"5\", not a whole number of at least 0");
  CHECK(state_failure("step", 5.0) == "state.json: field 'step' is 5.0, not a whole number of at least 0");
  CHECK(state_failure("step", -1) == "state.json: field 'step' is -1, not a whole number of at least 0");
  CHECK(state_failure("step", UINT64_MAX) ==
        "state.json: field 'step' is 18446744073709551615, not a whole number of at least 0 and at most "
        "9007199254740992");
  CHECK(state_failure("rollbacks_in_a_row", INT64_MAX) ==
        "state.json: field 'rollbacks_in_a_row' is 9223372036854775807, not a whole number of at least 0 and at most "
        "9007199254740992");
  CHECK(state_failure("best_step", -2) == "state.json: field 'best_step' is -2, not a whole number of at least -1");
  CHECK(state_failure("seconds", "soon") ==
        R"(state.json: field 'seconds' is "soon", not a number, "inf", "-inf" or "nan")");
  CHECK(state_failure("seconds", nullptr) ==
        R"(state.json: field 'seconds' is null, not a number, "inf", "-inf" or "nan")");
  CHECK(state_failure("device", 1) == "state.json: field 'device' is 1, not a string");
  CHECK(state_failure("data", 1) == "state.json: field 'data' is not a JSON object");
  CHECK(state_failure("data", {{"tokens", 1}, {"crc64", "12"}}) ==
        "state.json: field 'data': field 'crc64' is \"12\", not 16 hexadecimal digits");
}

TEST_CASE("a state of a newer program is refused by name") {
  CHECK(state_failure("version", 2) ==
        "state.json: run state of version 2, written by a newer chargpt; this one reads up to version 1");
  CHECK(state_failure("version", 0) == "state.json: field 'version' is 0, not a whole number of at least 1");
}

TEST_CASE("a state that is no object is refused") {
  CHECK(error_of([] { run_state_from_json(nlohmann::json::array(), "state.json"); }).line ==
        "state.json is not a JSON object"s);
}

TEST_CASE("small JSON files are read strictly") {
  CHECK(parse_strict_json(R"({"a":{"b":1},"c":{"b":2}})", "f.json").size() == 2);
  for (const char* text :
       {R"({"a":[1,-2,1.5e-7,18446744073709551615],"b":"\u00e9\n","c":null,"d":[true,false,[],{}]})", "7"})
    CHECK(parse_strict_json(text, "f.json") == nlohmann::json::parse(text));
  CHECK(parse_failure("") == "f.json is not JSON at its byte 1");
  CHECK(parse_failure("{\"a\":1") == "f.json is not JSON at its byte 7");
  CHECK(parse_failure("{}\n{}") == "f.json is not JSON at its byte 4");
  CHECK(parse_failure("{\"a\":1 /* */}") == "f.json is not JSON at its byte 8");
  CHECK(parse_failure("{}\0"s) == "f.json is not JSON: it holds a NUL byte");
  CHECK(parse_failure(R"({"a":1,"a":1})") == "f.json: field 'a' is given twice");
  CHECK(parse_failure(R"({"x":{"a":1,"a":1}})") == "f.json: field 'a' is given twice");
  CHECK(parse_failure(R"({"a":1e999})") == "f.json holds a number that is too large");
  CHECK(parse_failure(std::string(1'000'000, '[')) == "f.json is nested deeper than 16 levels");
}
