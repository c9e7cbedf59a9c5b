#include "config/source.h"

#include <nlohmann/json.hpp>

#include "failure.h"

namespace chargpt {
namespace {

std::string complaint(std::string_view text) {
  Source source{"a.json"};
  return error_of([&] { read_json(text, source); }).line;
}

TEST_CASE("every value has its line") {
  Source source{"a.json"};
  const nlohmann::json root = read_json(R"({ // a comment
  "a": 5,
  /* one
     more */ "b": [1e3,
           {"x": [[], 2]}],
  "c":
     true
})",
                                        source);
  CHECK(root.dump() == R"({"a":5,"b":[1000.0,{"x":[[],2]}],"c":true})");
  const std::map<std::string, int> lines = {{"a", 2},      {"b", 4},         {"b[0]", 4},      {"b[1]", 5},
                                            {"b[1].x", 5}, {"b[1].x[0]", 5}, {"b[1].x[1]", 5}, {"c", 6}};
  CHECK(source.lines == lines);
  CHECK(source.place("b[1].x") == "a.json:5");
  CHECK(source.place("d") == "a.json");
  std::string items = "[0";
  for (int i = 0; i < 1000; ++i) items += ",\n0";
  read_json(items + "]", source = {"many.json"});
  CHECK(source.place("[999]") + source.place("[1000]") == "many.json:1000many.json");
}

TEST_CASE("a text that is not JSON is answered with what was found, where, and how to write it") {
  const std::string begin = "a.json:1: not JSON: ",
                    literal = begin + "invalid literal; write words in double quotes, and numbers like 10, 0.5 or 1e-3";
  for (const char* word : {"foo", "True", "None", "NaN", ".5", "5 # five\n"})
    CHECK(complaint(std::string("{\"a\": ") + word + "}") == literal);
  for (const char* word : {"{a: 5}", "{'a': 5}"}) CHECK(complaint(word) == literal);
  CHECK(complaint("{\n\"a\": 5\n\"b\": 1}") == "a.json:3: not JSON: unexpected string literal; expected '}'");
  CHECK(complaint("{\"a\": 5,\n}") == "a.json:2: not JSON: remove the comma before }");
  CHECK(complaint("{\"a\": [1, 2,]}") == begin + "remove the comma before ]");
  CHECK(complaint("{\"a\": 5,, \"b\": 1}") == begin + "unexpected ','; expected string literal");
  CHECK(complaint("{\"a\": \"x\ny\"}").starts_with(begin + "invalid string: control character U+000A (LF)"));
  CHECK(complaint("{\"a\": \"c:\\q\"}") == begin + "invalid string: forbidden character after backslash");
  CHECK(complaint("{\"a\": \"\xFF\"}") == begin + "invalid string: ill-formed UTF-8 byte");
  CHECK(complaint("{\"a\": [1,\n2") == "a.json:2: not JSON: unexpected end of input; expected ']'");
  CHECK(complaint("{} /* x") == begin + "invalid comment; missing closing '*/'");
  CHECK(complaint("{}}") == begin + "unexpected '}'; expected end of input");
  CHECK(complaint(" \n").starts_with(begin + "unexpected end of input"));
}

TEST_CASE("what a lenient reader would take silently is refused") {
  CHECK(complaint("{\"m\": {\"a\": 1,\n\"b\": 2,\n\"a\": {}}}") ==
        "a.json:3: m.a is given twice, first on line 1; keep one of them");
  CHECK(complaint("{\"m\": {\"a\": 1e999}}") == "a.json:1: m.a is too large for a number");
  CHECK(complaint(std::string_view("{}\n\0{", 5)) ==
        "a.json:2: not JSON: it contains a NUL byte; is this a text file?");
  CHECK(complaint(std::string(20, '[')).ends_with("[0][0] is nested deeper than 16 levels"));
  CHECK(complaint(std::string(16, '[') + std::string(16, ']')) == "no error");
}

TEST_CASE("a flag has no lines") {
  Source flag{"--set", false};
  CHECK(error_of([&] { read_json("[1", flag); }) ==
        Failure{ExitCode::usage, "--set: not JSON: unexpected end of input; expected ']'"});
  CHECK(flag.place("model.n_layer") == "--set");
}

TEST_CASE("values are shown on one line and cut where long") {
  Source source{"a.json"};
  CHECK(shown(read_json(R"(["x\ny", 1e-3, null, {"b": 1}])", source)) == R"(["x\ny",0.001,null,{"b":1}])");
  CHECK(shown(18446744073709551616.0) == "18446744073709551616");
  CHECK(shown(nlohmann::json::object({{"b", 1}})) == "{...}");
  CHECK(shown(std::string(100, 'x')) == "\"" + std::string(60, 'x') + "...\"");
}

}  // namespace
}  // namespace chargpt
