// Converts a stream of text pieces to the text to show: holds back incomplete characters and possible stop strings
// until they are complete. Independent of models and vocabularies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// Ends a text before the first stop string. Holds back bytes that may be the start of one, and the bytes of an
/// incomplete character; all other bytes are output unchanged, also those that are not UTF-8. The result does not
/// depend on the split into pieces: the stop string that is complete first wins; if several end at the same byte, the
/// longest. Source: Unicode 15, table 3-7, "Well-Formed UTF-8 Byte Sequences".
class StopMatcher {
 public:
  /// Without strings the text never stops. Throws Error usage if a string is empty.
  explicit StopMatcher(std::vector<std::string> stops);
  /// Returns the text that can be shown now; "" after a stop.
  std::string add(std::string_view bytes);
  bool stopped() const { return stopped_; }
  /// Ends the text: returns the bytes held back.
  std::string finish();

 private:
  std::vector<std::string> stops_;
  std::string held_;  ///< a proper prefix of some stop string, or of one character
  bool stopped_ = false;
};

}  // namespace chargpt
