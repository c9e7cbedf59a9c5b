// Reads prompts and lines from standard input, up to the size limit of a file; waits for input. Independent of its
// meaning.
#pragma once

#include <cstdint>
#include <string>

#include "text/text_bytes.h"

namespace chargpt {

/// Reads all input, without a byte order mark. Throws Error data above the limit of --prompt-file, io if reading fails.
std::string read_standard_input();

/// Reads standard input line by line, without line ends.
class StandardInputLines {
 public:
  /// Returns false at the end. Errors: as read_standard_input(), with the limit per line.
  bool next(std::string& line);

 private:
  Descriptor input_ = standard_input();
  std::string pending_;  ///< read but not returned
  bool ended_ = false;
};

/// The limit of --prompt-file, in bytes.
inline constexpr std::uint64_t most_prompt_bytes = std::uint64_t{64} << 20;

}  // namespace chargpt
