// Whether a text is in Unicode's normal form C, in which a letter and its accents are one code point where there is
// one. Told where little is enough to tell it. Knows no file.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/names.h"

namespace chargpt {

/// composed: the text is in NFC (Unicode 14). decomposed: it is not. unknown: it holds combining marks or characters
/// that NFC may replace, and only all of Unicode's tables could tell.
CHARGPT_ENUM(NormalForm, composed, decomposed, unknown);

/// Looks at the characters of a text in order. Source: the quick check of Unicode Standard Annex #15, section 9, on
/// blocks rather than single characters, which errs to unknown alone; decomposed is said of a Latin or Cyrillic letter
/// right before a mark that NFC joins with it, as in the names of files of macOS.
class NormalFormCheck {
 public:
  void add(char32_t character);
  NormalForm form() const;
  std::int64_t pairs() const { return pairs_; }        ///< letters before a mark that NFC joins with them
  std::int64_t doubtful() const { return doubtful_; }  ///< characters that NFC might change, those marks among them

 private:
  char32_t before_ = 0;
  std::int64_t pairs_ = 0, doubtful_ = 0;
};

}  // namespace chargpt
