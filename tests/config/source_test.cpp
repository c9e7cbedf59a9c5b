#include "config/source.h"

#include "failure.h"

namespace chargpt {
namespace {

Value read(std::string_view text) {
  return read_json(text, {"a.json"});
}
std::string complaint(std::string_view text) {
  return error_of([&] { read(text); }).line;
}

TEST_CASE("every value knows its line, its kind and its spelling") {
  const Value root = read(R"({ // a comment
  "a": 5,
  /* one
     more */ "b": [1e3,
           "x"],
  "c":
     true
})");
  CHECK(root.kind == Value::Kind::object);
  REQUIRE(root.members.size() == 3);
  CHECK(root.find("a")->line == 2);
  CHECK(root.find("a")->text == "5");
  CHECK(root.find("b")->line == 4);
  CHECK(root.find("b")->items.at(0).text == "1e3");
  CHECK(root.find("b")->items.at(0).line == 4);
  CHECK(root.find("b")->items.at(1).line == 5);
  CHECK(root.find("c")->line == 7);
  CHECK(root.find("d") == nullptr);
}

TEST_CASE("a number keeps every digit") {
  CHECK(read(R"({"a": 18446744073709551616})").find("a")->text == "18446744073709551616");
  CHECK(read(R"({"a": -9007199254740993})").find("a")->text == "-9007199254740993");
}

TEST_CASE("a text that is not JSON is told what is wrong and where") {
  CHECK(complaint("{\"a\": foo}") == "a.json:1: not JSON at foo: write keys and words in double quotes");
  CHECK(complaint("{\n\"a\": 5\n\"b\": 1}") == "a.json:3: not JSON at \"b\": a comma or colon is missing before it");
  CHECK(complaint("{\"a\": 5,\n}") == "a.json:2: not JSON at }: leave out the comma before it");
  CHECK(complaint("{\"a\": [1, 2,]}") == "a.json:1: not JSON at ]: leave out the comma before it");
  CHECK(complaint("{\"a\": 5,, \"b\": 1}") == "a.json:1: not JSON at ,: a key or value is missing before it");
  CHECK(complaint("{'a': 5}") == "a.json:1: not JSON at ': write strings and keys in double quotes");
  CHECK(complaint("{a: 5}") == "a.json:1: not JSON at a: write keys and words in double quotes");
  CHECK(complaint("{\"a\": True}") == "a.json:1: not JSON at True: write true in lower case");
  CHECK(complaint("{\"a\": NaN}") == "a.json:1: not JSON at NaN: numbers are finite");
  CHECK(complaint("{\"a\": -Infinity}") == "a.json:1: not JSON at -Infinity: numbers are finite");
  CHECK(complaint("{\"a\": .5}") == "a.json:1: not JSON at .5: write numbers like 10, 0.5 or 1e-3");
  CHECK(complaint("{\"a\": 5 # five\n}") == "a.json:1: not JSON at #: comments start with //");
  CHECK(complaint("{\"a\" = 5}") == "a.json:1: not JSON at =: write \"key\": value, separated by commas");
  CHECK(complaint("{\"a\": \"x\ny\"}") == "a.json:1: not JSON: a string must end on the line where it starts");
  CHECK(complaint("{\"a\": \"c:\\q\"}") == "a.json:1: not JSON: a \\ in a string is written \\\\");
  CHECK(complaint("{\"a\": \"\xFF\"}") == "a.json:1: not JSON: a string is not UTF-8");
  CHECK(complaint("{\"a\": [1,\n2") == "a.json:2: not JSON: it ends before the last string, comment, ] or } is closed");
  CHECK(complaint("{} /* x") == "a.json:1: not JSON: it ends before the last string, comment, ] or } is closed");
  CHECK(complaint("{}}") == "a.json:1: not JSON at }: a comma is missing before it, or a } too many");
  CHECK(complaint(" \n") ==
        "a.json:2: not JSON: it is empty; a config is an object such as {\"model\": {\"n_layer\": 4}}");
}

TEST_CASE("what a lenient reader would take silently is refused") {
  CHECK(complaint("{\"m\": {\"a\": 1,\n\"b\": 2,\n\"a\": {}}}") ==
        "a.json:3: m.a = {...} is given twice, first on line 1; keep one of them");
  CHECK(complaint("{\"m\": {\"a\": 1e999}}") == "a.json:1: m.a = 1e999 is too large for a number");
  CHECK(complaint(std::string_view("{}\n\0{", 5)) == "a.json:2: not JSON: it holds a NUL byte; is this a text file?");
  CHECK(complaint(std::string(20, '[')) == "a.json:1: " + [] {
    std::string path;
    for (int depth = 0; depth < 16; ++depth) path += "[0]";
    return path + " is nested deeper than 16 levels";
  }());
  CHECK(complaint(std::string(max_config_bytes + 1, ' ')) == "a.json has 1048577 bytes; a config has at most 1048576");
}

TEST_CASE("a flag has no lines") {
  CHECK(error_of([] {
          read_json("[1", {"--set", false});
        }) == Failure{ExitCode::usage, "--set: not JSON: it ends before the last string, comment, ] or } is closed"});
}

TEST_CASE("many keys and deep brackets take no time") {
  std::string text = "{";
  for (int i = 0; i < 60000; ++i) text += "\"" + std::to_string(i) + "\":1,";
  CHECK(read(text + "\"x\":1}").members.size() == 60001);
  CHECK(error_of([] { read(std::string(1000000, '[')); }).code == ExitCode::usage);
}

TEST_CASE("values are shown as they were written, on one line and cut where long") {
  const Value root = read(R"({"a": ["x\ny", 1e3, null, {"b": 1}]})");
  CHECK(shown(*root.find("a")) == R"(["x\ny", 1e3, null, {...}])");
  CHECK(shown(read("\"" + std::string(100, 'x') + "\"")) == "\"" + std::string(60, 'x') + "...\"");
}

}  // namespace
}  // namespace chargpt
