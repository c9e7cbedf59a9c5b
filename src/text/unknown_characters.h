// The characters of a text that a vocabulary lacks, and the line that names them. Knows no file.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "text/vocabulary.h"

namespace chargpt {

/// What became of them: "they are left out", "each is read as '?'".
std::string outcome_of(UnknownPolicy policy, const Vocabulary& vocabulary);

class UnknownCharacters {
 public:
  static constexpr std::int64_t no_place = -1;
  /// `count` of them, the first at `position`: 0-based, in characters; no_place: none is told.
  void note(char32_t code_point, std::int64_t position, std::int64_t count = 1);
  bool empty() const { return seen_.empty(); }
  /// "WHAT has 2 characters that the model has never seen: '☺' (U+263A) at 6, …; ADVICE"; names the first three.
  std::string message(const std::string& what, const std::string& advice) const;

 private:
  struct Occurrences {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  std::map<char32_t, Occurrences> seen_;
};

}  // namespace chargpt
