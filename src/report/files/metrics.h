// RUN/metrics.jsonl: the events of a run, one JSON object per line, written during training.
// RUN/samples/step-00000500.txt: the sample of each evaluation, byte for byte. Independent of terminals.
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
#include "report/files/patient_file.h"

namespace chargpt {

/// Writes rows with "kind" ("plan", "train", "eval", "checkpoint", "notice", "end") and "step". A row is in the file
/// when the event's call returns. If the disk fails, calls `complain` and keeps the rows for later; without `complain`
/// throws Error io. Numbers that are not finite become null: JSON lacks them, and plotting programs skip null. Throws
/// Error io if the file cannot be opened.
class MetricsWriter : public Listener {
 public:
  /// Starts a new file; with `resume_step` keeps the old one up to that step (without a row cut short by a crash), as
  /// later steps are trained again. Train rows: step 1, every `log_interval`-th, and the last.
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
  PatientFile file_;
};

class SampleFileWriter : public Listener {
 public:
  /// Creates samples/ in `run` with the first sample. If a sample cannot be written, skips it and calls `complain`;
  /// without `complain` throws Error io.
  explicit SampleFileWriter(const std::filesystem::path& run, Complaint complain = {})
      : run_(run), folder_(open_folder(run)), complain_(std::move(complain)) {}
  /// Replaces an existing sample of the same step.
  void on(const SampleEvent& event) override;

 private:
  std::filesystem::path run_;
  Descriptor folder_;  ///< of run_; shows whether another run has replaced it
  Complaint complain_;
};

/// The plan as a row of metrics.jsonl, without "kind".
nlohmann::ordered_json to_json(const PlanEvent& plan);

/// Reads from the last row of metrics.jsonl how the run in folder `run` ended. Returns `unknown` if that row is of
/// another kind or missing.
Ending ending_in_metrics(const std::filesystem::path& run);
/// How the run ended, if this is the row of its end; else `unknown`.
Ending ending_in(const nlohmann::ordered_json& row);

/// Returns the complete lines of a metrics.jsonl that are JSON objects and whose "step", if any, is at most `step`.
std::string rows_up_to(const std::string& metrics, std::int64_t step);

/// The number at `key`; NaN if it is absent or not a number.
double number_in(const nlohmann::ordered_json& row, const char* key);

class MetricsReader {
 public:
  using Visit = std::function<void(const nlohmann::ordered_json& row)>;
  explicit MetricsReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// Calls `begin` if earlier rows are no longer valid (on the first call, and after a resumed run has rewritten the
  /// file), then `visit` for each new row. Leaves an unfinished last line for the next call. A missing file has no
  /// rows. Errors: io and data as read_regular_file().
  void read(const std::function<void()>& begin, const Visit& visit);

  /// Describes the lines that are not JSON objects with a "kind"; empty if there are none.
  std::string complaint() const;

 private:
  std::filesystem::path path_;
  std::optional<std::uint64_t> identity_;  ///< of the file; nullopt before the first read
  std::uint64_t offset_ = 0;
  std::int64_t lines_ = 0, broken_ = 0, first_broken_ = 0;
};

}  // namespace chargpt
