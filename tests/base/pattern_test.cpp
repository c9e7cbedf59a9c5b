#include "base/pattern.h"

#include "failure.h"

namespace chargpt {
namespace {

bool found(const std::string& pattern) {
  return std::regex_search("transformer.h.0.attn.c_attn.weight", compile_pattern(pattern, "match"));
}

std::string complaint(const std::string& pattern) {
  return message_of(ExitCode::usage, [&] { compile_pattern(pattern, "match"); });
}

TEST_CASE("a pattern is searched for anywhere in the text") {
  CHECK(found("attn"));
  CHECK(found("^transformer\\.h\\.[0-3]\\."));
  CHECK(found("wte|c_attn"));
  CHECK_FALSE(found("^attn"));
}

TEST_CASE("patterns that make a search try every way to match take no time") {
  for (const char* pattern : {"(.*)*Q", "(.*.*)*Q", "(.+)+Q", ".*.*.*.*.*.*.*.*.*.*Q"}) CHECK_FALSE(found(pattern));
}

TEST_CASE("what is no pattern, or too long for one, is refused") {
  CHECK(complaint("") == "match = \"\" is no regular expression; write one such as \"wte|lm_head\"");
  CHECK(complaint("((") == "match = \"((\" is no regular expression; write one such as \"wte|lm_head\"");
  CHECK(complaint("(a)\\1") == "match = \"(a)\\1\" is no regular expression; write one such as \"wte|lm_head\"");
  CHECK(complaint("(((a{999}){99}){99})").find("is no regular expression") != std::string::npos);
  CHECK(complaint(std::string(201, '(')) == "match = \"" + std::string(80, '(') + "...\" has 201 bytes, more than 200");
}

}  // namespace
}  // namespace chargpt
