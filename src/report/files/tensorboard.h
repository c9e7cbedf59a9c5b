// RUN/events.out.tfevents.SECONDS.chargpt: metrics of a run for TensorBoard, written without its libraries. Format:
// records of (length u64, masked CRC-32C of the length, a protobuf Event, masked CRC-32C of it), little-endian. Source:
// TensorFlow, core/lib/io/record_writer, core/util/event.proto, core/framework/summary.proto (field numbers).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "report/events.h"
#include "report/files/patient_file.h"

namespace chargpt {

/// CRC-32C (Castagnoli). The CRC of "123456789" is 0xE3069283.
std::uint32_t crc32c(std::string_view bytes);

/// Writes the scalars train/loss, lr, grad_norm, tokens_per_second, val/loss, train/eval_loss, and the samples as text.
/// Throws Error io if the file cannot be opened. After a later write error calls `complain` and retries (without
/// `complain` throws Error io).
class TensorBoardWriter : public Listener {
 public:
  /// Seconds since 1970.
  using Clock = std::function<double()>;
  /// Opens a new file in `run`; never overwrites a file. With `resume_step` the
  /// file starts with an event that makes TensorBoard discard later steps of
  /// older files. Train scalars: step 1, every `log_interval`-th, and the last.
  TensorBoardWriter(const std::filesystem::path& run, std::optional<std::int64_t> resume_step = std::nullopt,
                    std::int64_t log_interval = 1, Clock clock = {}, Complaint complain = {});
  void on(const StepEvent& event) override;
  void on(const EvalEvent& event) override;
  void on(const SampleEvent& event) override;

 private:
  void write_summary(std::int64_t step, std::string_view summary);
  std::int64_t log_interval_;
  Clock clock_;
  PatientFile file_;
};

}  // namespace chargpt
