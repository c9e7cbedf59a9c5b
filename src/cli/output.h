// Output of commands: text and JSON on standard output (unchanged to files and pipes, control characters escaped on a
// terminal), and a progress line on stderr for long work.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/heartbeat.h"

namespace chargpt {

/// Writes all bytes unchanged. Errors: as print_text().
void write_output(std::string_view bytes);
/// Writes all bytes of `text`, including NUL; on a terminal through escape_for_terminal(). Throws Error io if writing
/// fails (disk full), to end long work; ignores a closed pipe.
void print_text(std::string_view text);
/// Flushes standard output. Errors: as print_text().
void flush_text();

/// Sets json[key] = text. If text is not UTF-8 (from a byte-level model), invalid bytes are printed as U+FFFD, and
/// json[key + "_base64"] contains the bytes (RFC 4648).
void add_text(nlohmann::ordered_json& json, const std::string& key, std::string_view text);

/// Writes json_text() to standard output. On a terminal DEL, C1 controls and direction overrides are written as \u009b;
/// the document is the same.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

/// Returns a heartbeat that shows "`what`: 34 %", or "`what`" at the beginning, in a status line on stderr. Shows
/// nothing in the first `after` seconds, and nothing at all with --quiet. The line disappears with the heartbeat, which
/// throws Interrupted after a signal that asks the process to stop.
Heartbeat work_line(const std::string& what, double after = 2);

}  // namespace chargpt
