// Text on standard output: every byte of it for a file or a pipe, nothing that a terminal would obey for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "report/table.h"

namespace chargpt {

/// All bytes as they are. Errors as print_text.
void write_output(std::string_view bytes);
/// All bytes of `text`, NUL among them; on a terminal as escape_for_terminal shows it. Error io where they cannot be
/// written (disk full), so that long work ends there; none where the reader has gone.
void print_text(std::string_view text);
/// What was printed so far, to where it goes. Errors as print_text.
void flush_text();

/// Sentences, each line of them broken between words where the terminal is narrower. Errors as print_text.
void print_lines(const std::string& text);

/// The table; on a terminal no wider than that, as far as its numbers allow.
void print_table(const Table& table);

}  // namespace chargpt
