#include "text/unknown_characters.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/vocabulary.h"

namespace chargpt {

void UnknownCharacters::note(char32_t code_point, std::int64_t position, std::int64_t count) {
  Occurrences& seen = seen_.try_emplace(code_point, Occurrences{position, 0}).first->second;
  seen.first = std::min(seen.first, position);
  seen.count += count;
}

std::string outcome_of(UnknownPolicy policy, const Vocabulary& vocabulary) {
  if (policy == UnknownPolicy::skip) return "they are left out";
  const std::string symbol = vocabulary.symbol(vocabulary.replacement());
  return "each is read as " + describe_character(decode_character(symbol).code_point);
}

std::string UnknownCharacters::message(const std::string& what, const std::string& advice) const {
  std::vector<std::pair<char32_t, Occurrences>> named(std::min<std::size_t>(seen_.size(), 3));
  std::partial_sort_copy(seen_.begin(), seen_.end(), named.begin(), named.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.first, a.first) < std::pair(b.second.first, b.first);
  });
  std::string line = what + " has " + std::to_string(seen_.size()) +
                     (seen_.size() == 1 ? " character" : " characters") + " that the model has never seen: ";
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto& [code_point, where] = named[i];
    line += (i > 0 ? ", " : "") + describe_character(code_point);
    if (where.first != no_place) line += " at " + std::to_string(where.first);
    if (where.count > 1) line += " (" + std::to_string(where.count) + " times)";
  }
  if (seen_.size() > named.size()) line += " and " + std::to_string(seen_.size() - named.size()) + " more";
  return line + "; " + advice;
}

}  // namespace chargpt
