// Damaged configs give a config or an Error, never anything else.
#include <nlohmann/json.hpp>
#include <sstream>

#include "config/describe.h"
#include "config/load.h"
#include "failure.h"

namespace chargpt {
namespace {

/// Parses; where it fails, the message must be one line a terminal can show.
bool survives(std::string_view text) {
  const Failure failure = error_of([&] { parse_config(text, "mine.json", "/nonexistent"); });
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  return std::none_of(failure.line.begin(), failure.line.end(), is_control) && failure.line.size() < 2000;
}

const std::string small_config = R"({ // é
  "extends": "nanogpt-cpu", "name": "x",
  "data": {"text": ["a", "b"], "val_fraction": 0.1},
  "model": {"n_layer": 4, "bias": true, "bias_places": ["mlp", "norm"], "norm": "rmsnorm"},
  /* x */
  "train": {"learning_rate": 1e-3, "max_iters": 20, "groups": [{"match": "w(t)e|h", "weight_decay": -0.0}]}
})";

TEST_CASE("every truncation of a config is an error") {
  REQUIRE(error_of([] { parse_config(small_config, "mine.json", "."); }) == Failure{});
  for (std::size_t size = 0; size < small_config.size(); ++size) {
    const std::string_view cut = std::string_view(small_config).substr(0, size);
    CHECK(error_of([&] { parse_config(cut, "mine.json", "."); }).code == ExitCode::usage);
    CHECK(survives(cut));
  }
}

TEST_CASE("every change of a byte of a config gives a config or an error") {
  using namespace std::literals;
  for (std::size_t at = 0; at < small_config.size(); ++at) {
    std::string bytes = "\0\n \"',-/09[\\]e{}\x7F\x80\xC3\xFF"s;
    for (const int bits : {0x01, 0x20}) bytes += static_cast<char>(small_config[at] ^ bits);
    for (const char byte : bytes) {
      std::string changed = small_config;
      changed[at] = byte;
      if (!survives(changed)) FAIL("byte " << int{byte} << " at " << at);
    }
  }
}

TEST_CASE("every pair of neighbouring bytes may be lost or swapped") {
  for (std::size_t at = 0; at + 2 <= small_config.size(); ++at) {
    std::string without = small_config, swapped = small_config;
    without.erase(at, 2);
    std::swap(swapped[at], swapped[at + 1]);
    CHECK(survives(without));
    CHECK(survives(swapped));
  }
}

TEST_CASE("absurd values of every option are refused or taken, never more") {
  std::istringstream absurd(  // with a space between them; the first is empty
      " -1 0 1e308 1e309 -1e-320 18446744073709551616 9223372036854775808 nan -inf 0x10 1e -- null true "
      "\" [ { [[]] {\"a\":1} \"\\u0000\" ,, \xFF\xFE");
  for (std::string value; std::getline(absurd, value, ' ');)
    for (const OptionInfo& row : option_table()) {
      INFO(row.name << " = " << value);
      const std::vector<Override> overrides{{row.section + "." + row.name, value, "--set"}};
      const ExitCode code = error_of([&] { parse_config("{}", "mine.json", ".", overrides); }).code;
      CHECK((code == ExitCode::ok || code == ExitCode::usage));
    }
}

TEST_CASE("patterns made to exhaust the compiler of regular expressions are refused or compiled at once") {
  for (const std::string& pattern : {std::string(200, '('), std::string(100, '(') + std::string(100, ')'),
                                     std::string("((((a{999}){999}){999}){999}"), std::string("[[:zzz:]]"),
                                     std::string("\\"), std::string("a{99999999999}"), std::string("(?=(?=(?=a)))*")}) {
    nlohmann::json config;
    config["train"]["groups"] = {{{"match", pattern}}};
    CHECK(survives(config.dump()));
  }
}

TEST_CASE("a key or value of any length makes a short message") {
  const std::string long_word(100000, 'x');
  CHECK(survives("{\"" + long_word + "\": 1}"));
  CHECK(survives("{\"model\": {\"" + long_word + "\": \"" + long_word + "\"}}"));
  CHECK(survives("{\"model\": {\"n_layer\": " + std::string(100000, '9') + "}}"));
  CHECK(survives("{\"name\": \"" + long_word + "\"}"));
  CHECK(survives("{\"extends\": \"" + long_word + "\"}"));
  CHECK(survives("{\"data\": {\"text\": [" + std::string(100000, '1') + "]}}"));
}

}  // namespace
}  // namespace chargpt
