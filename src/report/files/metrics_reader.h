// RUN/metrics.jsonl as it grows, row by row. Knows no kind of row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace chargpt {

/// The number of that key; NaN where there is none.
double number_in(const nlohmann::ordered_json& row, const char* key);

class MetricsReader {
 public:
  using Visit = std::function<void(const nlohmann::ordered_json& row)>;
  explicit MetricsReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// Calls `begin` if what was told so far no longer counts (at first, and where the file was written anew, as a
  /// resumed run does), then `visit` for each row that is new. A last line without its end is left for the next call:
  /// it is being written. No file holds no rows. Errors: io and data as read_regular_file.
  void read(const std::function<void()>& begin, const Visit& visit);

  /// One line for people on those that are no JSON object, or without a "kind"; empty if there are none.
  std::string complaint() const;

 private:
  void forget();
  void take(const std::string& line, const Visit& visit);

  std::filesystem::path path_;
  std::uint64_t identity_ = 0, offset_ = 0;
  std::string unfinished_;  ///< the beginning of a line
  std::int64_t lines_ = 0, broken_ = 0, first_broken_ = 0;
  bool begun_ = false;
};

}  // namespace chargpt
