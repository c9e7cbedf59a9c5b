// From a stream of pieces of text to what may be shown: incomplete characters and possible stop strings are held back
// until they are decided. Pure; knows no model and no vocabulary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// Cuts a stream of bytes (units: bytes) between characters: the bytes of an unfinished one are held back. Nothing is
/// lost or changed; bytes that are no UTF-8 come out as they are. Source: Unicode 15, table 3-7, "Well-Formed UTF-8
/// Byte Sequences".
class Utf8Assembler {
 public:
  /// Returns what may be shown now.
  std::string add(std::string_view bytes);
  /// The end of the text: the bytes of a character that stayed unfinished.
  std::string finish();

 private:
  std::string held_;  ///< a proper prefix of one character
};

/// Ends a text before the first stop string. Text that may be the beginning of one is held back. The outcome does not
/// depend on how the text was cut into pieces: the stop string that is complete first wins, of those complete at once
/// the longest.
class StopMatcher {
 public:
  /// No strings: nothing ever stops. Error usage where one is empty.
  explicit StopMatcher(std::vector<std::string> stops);
  /// Returns what may be shown now; nothing more once stopped.
  std::string add(std::string_view text);
  bool stopped() const { return stopped_; }
  /// The end of the text: what was held back and became no stop string.
  std::string finish();

 private:
  std::vector<std::string> stops_;
  std::string held_;  ///< a proper prefix of some stop string
  bool stopped_ = false;
};

}  // namespace chargpt
