// The state of a run as JSON, and the strict reading of small JSON files.
#include "run/state.h"

#include <nlohmann/json.hpp>

#include "failure.h"
#include "run/strict_json.h"
#include "saved_run.h"

using namespace chargpt;
using namespace std::string_literals;

namespace {

std::string parse_failure(const std::string& text) {
  return message_of(ExitCode::data, [&] { parse_strict_json(text, "f.json"); });
}

/// What reading a state says whose field `name` has been given `value`.
std::string state_failure(const std::string& name, const nlohmann::json& value) {
  nlohmann::json json = to_json(state_of(5));
  json[name] = value;
  return message_of(ExitCode::data, [&] { run_state_from_json(json, "state.json"); });
}

}  // namespace

TEST_CASE("the teachers of a run come back; anything but a list of them is refused") {
  RunState state = state_of(5);
  state.teachers = {{"a", 400, 1}, {"\"b\"", 5, UINT64_MAX}};
  nlohmann::json json = to_json(state);
  const std::vector<TeacherWeights> read = run_state_from_json(json, "s").teachers;
  REQUIRE(read.size() == 2);
  CHECK(read[0].name == state.teachers[0].name);
  CHECK(read[1].crc64 == UINT64_MAX);
  CHECK(to_json(run_state_from_json(json, "s")).dump() == to_json(state).dump());
  json["teachers"] = "a";
  CHECK_THROWS_WITH(run_state_from_json(json, "s"), Catch::Contains("field 'teachers' is"));
  json["teachers"] = {{{"name", "a"}, {"step", 1}}};
  CHECK_THROWS_WITH(run_state_from_json(json, "s"), Catch::Contains("crc64"));
}

TEST_CASE("the text of a run state") {
  RunState state = state_of(5);
  state.seconds = 1.5;
  state.training_seconds = 1.25;
  state.val_loss = std::numeric_limits<double>::quiet_NaN();
  state.best_val_loss = std::numeric_limits<double>::infinity();
  CHECK(to_json(state).dump() ==
        R"({"step":5,"max_iters":1000,"seconds":1.5,"training_seconds":1.25,"setup_seconds":0.0,)"
        R"("closing_seconds":0.0,"val_windows":0,"exact":false,"val_loss":"nan",)"
        R"("averaged_val_loss":"inf","best_val_loss":"inf","best_step":-1,)"
        R"("evals_without_improvement":2,"ended":"unknown",)"
        R"("data":{"tokens":1000,"crc64":"fedcba9876543210"},"parameters":3,"start_symbol":1,)"
        R"("program_version":"0.1.0","libtorch_version":"2.13.0","cpu_capability":"AVX2",)"
        R"("device":"cpu","engine":"libtorch","threads":2,"ranks":1,"teachers":[]})");
  const RunState read = run_state_from_json(to_json(state), "s");
  CHECK(std::isnan(read.val_loss));
  CHECK(std::isinf(read.best_val_loss));
}

TEST_CASE("every field must be there but \"exact\"") {
  const nlohmann::json whole = to_json(state_of(5));
  for (const auto& [name, value] : whole.items()) {
    nlohmann::json json = whole;
    json.erase(name);
    CHECK(error_of([&] { run_state_from_json(json, "state.json"); }) ==
          (name == "exact" ? Failure{} : data_error("state.json: field '" + name + "' is missing")));
  }
}

TEST_CASE("every field must be of its type and within its range") {
  CHECK(state_failure("step", "5") ==
        "state.json: field 'step' is \"5\", not a whole number from 0 to 9007199254740992");
  CHECK(state_failure("step", 5.0) == "state.json: field 'step' is 5.0, not a whole number from 0 to 9007199254740992");
  CHECK(state_failure("step", -1) == "state.json: field 'step' is -1, not a whole number from 0 to 9007199254740992");
  CHECK(state_failure("step", UINT64_MAX) ==
        "state.json: field 'step' is 18446744073709551615, not a whole number from 0 to 9007199254740992");
  CHECK(state_failure("evals_without_improvement", INT64_MAX) ==
        "state.json: field 'evals_without_improvement' is 9223372036854775807, not a whole number from 0 to "
        "9007199254740992");
  CHECK(state_failure("best_step", -2) ==
        "state.json: field 'best_step' is -2, not a whole number from -1 to 9007199254740992");
  CHECK(state_failure("seconds", "soon") ==
        R"(state.json: field 'seconds' is "soon", not a number, "inf", "-inf" or "nan")");
  CHECK(state_failure("seconds", nullptr) ==
        R"(state.json: field 'seconds' is null, not a number, "inf", "-inf" or "nan")");
  CHECK(state_failure("ended", "boredom") == R"(state.json: field 'ended' is "boredom", not a reason to end)");
  CHECK(state_failure("device", 1) == "state.json: field 'device' is 1, not a string");
  CHECK(state_failure("data", 1) == "state.json: field 'data' is not a JSON object");
  CHECK(state_failure("data", {{"tokens", 1}, {"crc64", "12"}}) ==
        "state.json: field 'data': field 'crc64' is \"12\", not 16 hexadecimal digits");
}

TEST_CASE("small JSON files are read strictly") {
  CHECK(parse_strict_json(R"({"a":{"b":1},"c":{"b":2}})", "f.json").size() == 2);
  for (const char* text :
       {R"({"a":[1,-2,1.5e-7,18446744073709551615],"b":"\u00e9\n","c":null,"d":[true,false,[],{}]})", "7"})
    CHECK(parse_strict_json(text, "f.json") == nlohmann::json::parse(text));
  for (const char* text : {"", "{\"a\":1", "{}\n{}", "{\"a\":1 /* */}"})
    CHECK_THAT(parse_failure(text), Catch::StartsWith("f.json: not JSON: "));
  CHECK(parse_failure("{}\0"s) == "f.json: not JSON: it contains a NUL byte; is this a text file?");
  CHECK(parse_failure(R"({"a":1,"a":1})") == "f.json: a is given twice; keep one of them");
  CHECK(parse_failure(R"({"x":{"a":1,"a":1}})") == "f.json: x.a is given twice; keep one of them");
  CHECK(parse_failure(R"({"a":1e999})") == "f.json: a is too large for a number");
  CHECK_THAT(parse_failure(std::string(1'000'000, '[')), Catch::EndsWith(" is nested deeper than 16 levels"));
}
