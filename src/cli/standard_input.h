// What a command reads from standard input beside a training text: as much as a file may hold, waited for where nothing
// is there yet. Knows no meaning of it.
#pragma once

#include <cstdint>
#include <string>

namespace chargpt {

/// All of it, without a byte order mark. Error data above the limit of --prompt-file, io where reading fails.
std::string read_standard_input();

/// Its lines one by one, without their ends.
class StandardInputLines {
 public:
  /// False at the end. Errors as read_standard_input, of one line.
  bool next(std::string& line);

 private:
  std::string pending_;  ///< read, and not given yet
  bool ended_ = false;
};

/// The limit, in bytes.
inline constexpr std::uint64_t most_prompt_bytes = std::uint64_t{64} << 20;

}  // namespace chargpt
