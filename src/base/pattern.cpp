#include "base/pattern.h"

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {

std::regex compile_pattern(const std::string& pattern, const std::string& what) {
  constexpr std::size_t max_bytes = 200;  // the compiler recurses, so this limits its depth
  const auto reject = [&](const std::string& why) {
    return Error(ExitCode::usage, what, " = \"", printable(pattern), "\" ", why);
  };
  if (pattern.size() > max_bytes)
    throw reject("has " + std::to_string(pattern.size()) + " bytes, more than " + std::to_string(max_bytes));
  if (pattern.empty()) throw reject("is no regular expression; write one such as \"wte|lm_head\"");
  auto grammar = std::regex::ECMAScript;
#ifdef __GLIBCXX__
  grammar |= std::regex_constants::__polynomial;  // a match cannot hang; libc++ ends one that takes too many steps
#endif
  try {
    return std::regex(pattern, grammar);
  } catch (const std::regex_error&) {
    throw reject("is no regular expression; write one such as \"wte|lm_head\"");
  }
}

}  // namespace chargpt
