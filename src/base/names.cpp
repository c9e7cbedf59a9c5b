#include "base/names.h"

#include <algorithm>

namespace chargpt {
namespace {

char folded(char c) {
  if (c == '-') return '_';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours, where no part of
/// the text is edited twice.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = previous[j - 1] + (folded(a[i - 1]) == folded(b[j - 1]) ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substituted});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known) {
  std::size_t limit = std::max<std::size_t>(1, name.size() / 3);
  std::optional<std::string> nearest;
  for (const std::string& candidate : known) {
    const std::size_t longer = std::max(candidate.size(), name.size());
    if (longer - std::min(candidate.size(), name.size()) > limit) continue;  // bounds the work for a huge name
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > limit || (nearest && distance == limit)) continue;
    nearest = candidate;
    limit = distance;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known, const std::string& otherwise) {
  const std::optional<std::string> nearest = nearest_name(name, known);
  return nearest ? "; did you mean " + *nearest + "?" : otherwise;
}

std::string joined(const std::vector<std::string>& names, const std::string& separator) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : separator) + name;
  return out;
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + separator.size());
  }
  return parts;
}

std::string some_of(const std::vector<std::string>& names, std::size_t most) {
  if (names.size() <= most) return joined(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most));
  return joined(first, ", ") + " and " + std::to_string(names.size() - most) + " more";
}

}  // namespace chargpt
