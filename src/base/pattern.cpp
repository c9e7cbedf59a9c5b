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
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex_constants::__polynomial);  // of libstdc++
  } catch (const std::regex_error&) {
    throw reject("is no regular expression; write one such as \"wte|lm_head\"");
  }
}

}  // namespace chargpt
