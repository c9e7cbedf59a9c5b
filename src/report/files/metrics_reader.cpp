#include "report/files/metrics_reader.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

constexpr std::uint64_t most_at_once = 1 << 20, longest_line = 4 << 20;

}  // namespace

double number_in(const nlohmann::ordered_json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

void MetricsReader::read(const std::function<void()>& begin, const Visit& visit) {
  while (true) {
    FileStretch stretch;
    try {
      stretch = read_stretch(path_, offset_, most_at_once);
    } catch (const Error& error) {
      if (error.code() != ExitCode::missing) throw;
    }
    if (!begun_ || stretch.identity != identity_ || stretch.size < offset_) {
      const bool again = offset_ > 0;
      forget();
      identity_ = stretch.identity;
      begun_ = true;
      begin();
      if (again) continue;
    }
    if (stretch.bytes.empty()) return;
    offset_ += stretch.bytes.size();
    unfinished_ += stretch.bytes;
    std::size_t from = 0;
    for (std::size_t end = 0; (end = unfinished_.find('\n', from)) != std::string::npos; from = end + 1)
      take(unfinished_.substr(from, end - from), visit);
    unfinished_.erase(0, from);
    if (unfinished_.size() > longest_line)
      throw Error(ExitCode::data, printable_path(path_), ": line ", lines_ + 1, " is longer than ", longest_line,
                  " bytes, so it is not a file of metrics");
  }
}

std::string MetricsReader::complaint() const {
  if (broken_ == 0) return "";
  return printable_path(path_) + ": skipped " + std::to_string(broken_) + " malformed " +
         (broken_ == 1 ? "line" : "lines") + " (first: line " + std::to_string(first_broken_) + ")";
}

void MetricsReader::forget() {
  offset_ = 0;
  unfinished_.clear();
  lines_ = broken_ = first_broken_ = 0;
}

void MetricsReader::take(const std::string& line, const Visit& visit) {
  ++lines_;
  const nlohmann::ordered_json row = foreign_json(line);
  const bool whole = row.is_object() && row.contains("kind") && row["kind"].is_string();
  if (whole) return visit(row);
  if (++broken_ == 1) first_broken_ = lines_;
}

}  // namespace chargpt
