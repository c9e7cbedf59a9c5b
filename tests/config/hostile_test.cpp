// Damaged configs give a config or an Error, never anything else.
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
