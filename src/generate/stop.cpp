// Streaming UTF-8 and stop strings.
#include "generate/stop.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"

namespace chargpt {
namespace {

/// How many bytes a character that starts with `lead` has; 0 where none starts so.
std::size_t character_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// `byte` may follow `lead` as its second byte: no overlong forms, no surrogates, nothing above U+10FFFF.
bool may_be_second(unsigned char lead, unsigned char byte) {
  if (lead == 0xE0) return byte >= 0xA0 && byte < 0xC0;
  if (lead == 0xED) return byte >= 0x80 && byte < 0xA0;
  if (lead == 0xF0) return byte >= 0x90 && byte < 0xC0;
  if (lead == 0xF4) return byte >= 0x80 && byte < 0x90;
  return byte >= 0x80 && byte < 0xC0;
}

bool may_follow(std::string_view begun, unsigned char byte) {
  return begun.size() == 1 ? may_be_second(static_cast<unsigned char>(begun[0]), byte) : byte >= 0x80 && byte < 0xC0;
}

/// Length of the longest end of `text` that is the beginning, not the whole, of `stop`.
std::size_t begun_length(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (text.ends_with(stop.substr(0, length))) return length;
  return 0;
}

}  // namespace

std::string Utf8Assembler::add(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    if (!held_.empty() && !may_follow(held_, static_cast<unsigned char>(byte))) out += finish();
    held_ += byte;
    if (held_.size() >= character_length(static_cast<unsigned char>(held_[0]))) out += finish();
  }
  return out;
}

std::string Utf8Assembler::finish() {
  return std::exchange(held_, {});
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  if (std::any_of(stops_.begin(), stops_.end(), [](const std::string& stop) { return stop.empty(); }))
    throw Error(ExitCode::usage, "--stop is an empty string, which every text contains; give at least one character");
}

std::string StopMatcher::add(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  std::size_t first_end = std::string::npos, start = 0, begun = 0;
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
