#include "cli/print_text.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "cli/process.h"
#include "report/escape.h"

namespace chargpt {

void print_text(std::string_view text) {
  static const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  if (!to_terminal) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  const std::string shown = escape_for_terminal(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void print_table(const Table& table) {
  std::fputs(table.text(terminal_columns(STDOUT_FILENO)).c_str(), stdout);
}

}  // namespace chargpt
