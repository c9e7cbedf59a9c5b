#include "predict/stop.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

/// Length of the longest suffix of `text` that is a proper prefix of `stop`.
std::size_t begun_length(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (text.ends_with(stop.substr(0, length))) return length;
  return 0;
}

/// Length of the incomplete character at the end of `text`.
std::size_t incomplete_length(std::string_view text) {
  for (std::size_t length = std::min<std::size_t>(3, text.size()); length > 0; --length)
    if (begins_character(text.substr(text.size() - length))) return length;
  return 0;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  if (std::any_of(stops_.begin(), stops_.end(), [](const std::string& stop) { return stop.empty(); }))
    throw Error(ExitCode::usage, "a stop string is empty; give it at least one character");
}

std::string StopMatcher::add(std::string_view bytes) {
  if (stopped_) return {};
  held_ += bytes;
  std::size_t first_end = std::string::npos, start = 0, begun = incomplete_length(held_);
  for (const std::string& stop : stops_) {
    const std::size_t found = held_.find(stop);
    begun = std::max(begun, begun_length(held_, stop));
    if (found == std::string::npos) continue;
    const std::size_t end = found + stop.size();
    if (end < first_end || (end == first_end && found < start)) first_end = end, start = found;
  }
  stopped_ = first_end != std::string::npos;
  const std::size_t shown = stopped_ ? start : held_.size() - begun;
  std::string out = held_.substr(0, shown);
  held_ = stopped_ ? std::string() : held_.substr(shown);
  return out;
}

std::string StopMatcher::finish() {
  return std::exchange(held_, {});
}

}  // namespace chargpt
