// RUN/metrics.jsonl: what happened, one JSON object a line, for programs to read. Knows no terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

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

/// A plan as its row of metrics, and back; keys that the row lacks keep their defaults.
nlohmann::ordered_json to_json(const PlanEvent& plan);
PlanEvent plan_of_row(const nlohmann::ordered_json& row);

/// How the run in folder `run` ended, by the last row of its metrics.jsonl; unknown if that row is of another kind or
/// there is none.
Ending ending_in_metrics(const std::filesystem::path& run);

/// The whole lines of a metrics.jsonl that are JSON objects and whose "step", if any, is at most `step`.
std::string rows_up_to(const std::string& metrics, std::int64_t step);

}  // namespace chargpt
