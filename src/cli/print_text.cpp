#include "cli/print_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "cli/failure.h"
#include "cli/process.h"
#include "report/escape.h"
#include "report/wrap.h"

namespace chargpt {

void write_output(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) < bytes.size())
    if (const auto error = output_error(errno)) throw Error(*error);
}

void print_text(std::string_view text) {
  static const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  write_output(to_terminal ? escape_for_terminal(text) : text);
}

void flush_text() {
  if (std::fflush(stdout) != 0)
    if (const auto error = output_error(errno)) throw Error(*error);
}

void print_lines(const std::string& text) {
  print_text(wrapped_lines(text, terminal_columns(STDOUT_FILENO)));
}

void print_table(const Table& table) {
  print_text(table.text(terminal_columns(STDOUT_FILENO)));
}

}  // namespace chargpt
