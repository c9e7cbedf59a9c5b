// What commands write: text and JSON on standard output, every byte of it for a file or a pipe, nothing that a terminal
// would obey for a terminal; and a line on stderr that says how far long work has come.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/heartbeat.h"
#include "cli/arguments.h"
#include "report/format.h"
#include "report/status_line.h"

namespace chargpt {

/// All bytes as they are. Errors as print_text.
void write_output(std::string_view bytes);
/// All bytes of `text`, NUL among them; on a terminal as escape_for_terminal shows it. Error io where they cannot be
/// written (disk full), so that long work ends there; none where the reader has gone.
void print_text(std::string_view text);
/// What was printed so far, to where it goes. Errors as print_text.
void flush_text();

/// json[key] = text. If text is not UTF-8, as a model of bytes may write, it has U+FFFD there for invalid bytes, and
/// json[key + "_base64"] holds its bytes (RFC 4648).
void add_text(nlohmann::ordered_json& json, const std::string& key, std::string_view text);

/// json_text on standard output. On a terminal, what it would obey (DEL, C1 controls, direction overrides) is written
/// as \u009b: the same document.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

/// The same on one line, of `json`, an object that is not empty, with one more member: the list `key` of `count` items.
/// They are made and written one by one, so that a long list takes no memory.
void print_json_with_list(const nlohmann::ordered_json& json, const std::string& key, std::size_t count,
                          const std::function<nlohmann::ordered_json(std::size_t)>& item);

/// A status line on stderr, by this machine's clock.
class WorkLine {
 public:
  /// Shows nothing in the first `after` seconds, and nothing at all with --quiet.
  explicit WorkLine(const OutputArguments& output, double after = 2);

  void show(const std::string& text);
  /// Shows "`what`: 34%". The line must outlive it.
  Heartbeat heartbeat(const std::string& what);
  void clear() { line_.clear(); }
  double seconds() const;  ///< since it was made

 private:
  double begun_;
  StatusLine line_;
};

}  // namespace chargpt
