#include "base/glob.h"

#include <optional>
#include <vector>

#include "base/utf8.h"

namespace chargpt {
namespace {

/// Code points; a byte that is no UTF-8 counts as one of its own, beyond them all.
std::vector<char32_t> characters_of(std::string_view text) {
  std::vector<char32_t> characters;
  while (!text.empty()) {
    const DecodedCharacter one = decode_character(text);
    const bool valid = one.fault == Utf8Fault::none;
    characters.push_back(valid ? one.code_point : code_point_limit + static_cast<unsigned char>(text[0]));
    text.remove_prefix(valid ? static_cast<std::size_t>(one.length) : 1);
  }
  return characters;
}

using Characters = std::vector<char32_t>;

/// What one place of a pattern takes: where it ends in the pattern, and whether it takes `character`.
struct Taken {
  std::size_t end;
  bool matches;
};

/// "[a-z]" from `at` on; none where no bracket closes it, for then it is a bracket like any other character.
std::optional<Taken> take_set(const Characters& pattern, std::size_t at, char32_t character) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (const std::size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const char32_t low = pattern[i];
    const bool is_range = i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']';
    if (is_range) i += 2;
    found = found || (low <= character && character <= pattern[i]);
  }
  if (i >= pattern.size()) return std::nullopt;
  return Taken{i + 1, found != negated};
}

Taken take_one(const Characters& pattern, std::size_t at, char32_t character) {
  if (pattern[at] == '?') return {at + 1, true};
  if (pattern[at] == '[')
    if (const auto set = take_set(pattern, at, character)) return *set;
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return {at + 1, pattern[at] == character};
}

}  // namespace

bool has_wildcards(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '*' || text[i] == '?' || text[i] == '[')
      return true;
  }
  return false;
}

bool matches_glob(std::string_view pattern_text, std::string_view name_text) {
  if (name_text.starts_with('.') && !pattern_text.starts_with('.') && !pattern_text.starts_with("\\.")) return false;
  const Characters pattern = characters_of(pattern_text), name = characters_of(name_text);
  // Only the last star met needs to be tried again: what earlier ones took is as good as any.
  std::optional<std::size_t> star;
  std::size_t at = 0, place = 0, taken_by_star = 0;
  while (place < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      taken_by_star = place;
      continue;
    }
    if (at < pattern.size())
      if (const Taken taken = take_one(pattern, at, name[place]); taken.matches) {
        at = taken.end;
        ++place;
        continue;
      }
    if (!star) return false;
    at = *star;
    place = ++taken_by_star;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

std::string unescaped_glob(std::string_view pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    text += pattern[i];
  }
  return text;
}

}  // namespace chargpt
