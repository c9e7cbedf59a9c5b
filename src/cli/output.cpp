#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "report/status_line.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

void check_output(bool succeeded) {
  if (!succeeded && errno != EPIPE)
    throw Error(ExitCode::io, "writing to standard output failed: ", std::strerror(errno));
}

/// Escapes the other control characters of a document; nlohmann-json already escapes those below a space.
std::string for_terminal(std::string text) {
  for (std::size_t at = 0; (at = text.find('\x7F', at)) != std::string::npos;) text.replace(at, 1, "\\u007f");
  return escape_for_terminal(text);
}

void print_parts(const Report& report, bool markdown) {
  for (const Report::Part& part : report.parts()) {
    const std::string text = part_text(part, terminal_columns(STDOUT_FILENO), markdown);
    part.kind == Report::Kind::painted ? write_output(text) : print_text(text);
  }
}

}  // namespace

void write_output(std::string_view bytes) {
  check_output(std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size());
}

void print_text(std::string_view text) {
  static const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  static std::string held;  // a carriage return, because a line feed may follow
  if (!to_terminal) return write_output(text);
  held += text;
  const std::size_t shown = held.size() - (held.ends_with('\r') ? 1 : 0);
  write_output(escape_for_terminal(std::string_view(held).substr(0, shown)));
  held.erase(0, shown);
}

void flush_text() {
  check_output(std::fflush(stdout) == 0);
}

void add_text(nlohmann::ordered_json& json, const std::string& key, std::string_view text) {
  json[key] = std::string(text);
  if (!is_utf8(text)) json[key + "_base64"] = base64(text);
}

void print_json(const nlohmann::ordered_json& json, int indent) {
  static const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  const std::string text = json_text(json, indent);
  write_output(to_terminal ? for_terminal(text) : text);
}

void print_report(const Report& report, const OutputArguments& output) {
  output.json ? print_json(report.json, report.indent) : print_parts(report, output.markdown);
  if (report.is_yes) return;
  flush_text();
  throw AnsweredNo{};
}

Heartbeat work_line(const std::string& what, double after) {
  const auto line = std::make_shared<StatusLine>(repainted_columns(STDERR_FILENO), write_progress);
  line->delay(log_is_quiet() ? std::numeric_limits<double>::infinity() : steady_seconds() + after);
  return [line, what](double part) {
    if (stopping_signal() != 0) throw Interrupted{};
    const double now = steady_seconds();
    if (!line->is_due(now)) return;
    line->show({"chargpt: " + printable(part > 0 ? what + ": " + format_percent(part, 0) : what, SIZE_MAX)}, now);
  };
}

}  // namespace chargpt
