#include "cli/standard_input.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "text/text_bytes.h"

namespace chargpt {

std::string read_standard_input() {
  return std::string(without_byte_order_mark(standard_input_bytes(most_prompt_bytes)));
}

bool StandardInputLines::next(std::string& line) {
  std::array<char, 1 << 16> piece{};
  for (std::size_t searched = 0; true;) {
    const std::size_t end = pending_.find('\n', searched);
    if (end != std::string::npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return true;
    }
    if (ended_) break;
    searched = pending_.size();
    const std::size_t count = read_some(input_, piece, "standard input");
    ended_ = count == 0;
    if (count > most_prompt_bytes - pending_.size())
      throw Error(ExitCode::data, "a line of standard input is larger than ", most_prompt_bytes, " bytes, the limit");
    pending_.append(piece.data(), count);
  }
  line = std::exchange(pending_, "");
  return !line.empty();
}

}  // namespace chargpt
