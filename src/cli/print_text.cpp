#include "cli/print_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "cli/failure.h"
#include "cli/process.h"
#include "report/escape.h"

namespace chargpt {

namespace {

void write_whole(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size())
    if (const auto error = output_error(errno)) throw Error(*error);
}

}  // namespace

void print_text(std::string_view text) {
  static const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  write_whole(to_terminal ? escape_for_terminal(text) : text);
}

void flush_text() {
  if (std::fflush(stdout) != 0)
    if (const auto error = output_error(errno)) throw Error(*error);
}

void print_table(const Table& table) {
  std::fputs(table.text(terminal_columns(STDOUT_FILENO)).c_str(), stdout);
}

}  // namespace chargpt
