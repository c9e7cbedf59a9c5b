// RUN/metrics.jsonl: what happened, one JSON object a line, for programs; written as a run goes on, and read as it
// grows. RUN/samples/step-00000500.txt: what the model wrote at each evaluation, byte for byte. Knows no terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/files.h"
#include "report/events.h"
#include "report/files/output_file.h"

namespace chargpt {

/// Rows by "kind": "plan", "train", "eval", "checkpoint", "notice", "end"; every row has "step". Each is in the file
/// when the event's call returns, unless the disk fails: then `complain` is told and the rows wait (without it, Error
/// io). A number that is not finite is null: JSON has no name for it, and plotting programs skip null. Errors: io if
/// the file cannot be opened.
class MetricsWriter : public Listener {
 public:
  /// A new file; or, with `resume_step`, the old one without the rows after that step (and without a row cut short by a
  /// crash), as those steps will be made again. Train rows: step 1, every `log_interval`-th, and the last.
  explicit MetricsWriter(std::filesystem::path path, std::optional<std::int64_t> resume_step = std::nullopt,
                         std::int64_t log_interval = 1, Complaint complain = {});
  void on(const PlanEvent& event) override;
  void on(const StepEvent& event) override;
  void on(const EvalEvent& event) override;
  void on(const CheckpointEvent& event) override;
  void on(const NoticeEvent& event) override;
  void on(const EndEvent& event) override;

 private:
  std::int64_t log_interval_;
  std::int64_t step_ = 0;  ///< of the newest event; the step of rows that have none of their own
  PatientFile file_;
};

class SampleFileWriter : public Listener {
 public:
  /// Makes samples/ in `run` with the first sample. A sample that cannot be written is left out and `complain` told
  /// (without it, Error io).
  explicit SampleFileWriter(const std::filesystem::path& run, Complaint complain = {})
      : run_(run), folder_(open_folder(run)), complain_(std::move(complain)) {}
  /// A sample of the same step is replaced.
  void on(const SampleEvent& event) override;

 private:
  std::filesystem::path run_;
  Descriptor folder_;  ///< of run_, which another run may have replaced
  Complaint complain_;
};

/// A plan as its row of metrics.
nlohmann::ordered_json to_json(const PlanEvent& plan);

/// How the run in folder `run` ended, by the last row of its metrics.jsonl; unknown if that row is of another kind or
/// there is none.
Ending ending_in_metrics(const std::filesystem::path& run);

/// The whole lines of a metrics.jsonl that are JSON objects and whose "step", if any, is at most `step`.
std::string rows_up_to(const std::string& metrics, std::int64_t step);

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
  void take(const std::string& line, const Visit& visit);

  std::filesystem::path path_;
  std::optional<std::uint64_t> identity_;  ///< of the file; none before the first look at it
  std::uint64_t offset_ = 0;
  std::string unfinished_;  ///< the beginning of a line
  std::int64_t lines_ = 0, broken_ = 0, first_broken_ = 0;
};

}  // namespace chargpt
