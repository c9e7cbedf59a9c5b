#include "report/files/tensorboard.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/quote.h"

namespace chargpt {
namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
  return out;
}

/// CRCs of data that contains CRCs are weak, so TensorFlow stores them rotated and shifted.
std::string masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian((crc >> 15 | crc << 17) + 0xA282EAD8U, 4);
}

/// An event in the file's record format.
std::string record(std::string_view event) {
  const std::string length = little_endian(event.size(), 8);
  return length + masked_crc32c(length) + std::string(event) + masked_crc32c(event);
}

// Protobuf wire format: a key (field number << 3 | type), then the value by type: 0 varint, 1 eight bytes, 2 a length
// and bytes, 5 four bytes.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80U);
  return out + static_cast<char>(value);
}
std::string key(int field, int type) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(type));
}
std::string integer(int field, std::int64_t value) {
  return key(field, 0) + varint(static_cast<std::uint64_t>(value));
}
std::string real(int field, double value) {
  return key(field, 1) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string real(int field, float value) {
  return key(field, 5) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}
std::string bytes(int field, std::string_view value) {
  return key(field, 2) + varint(value.size()) + std::string(value);
}

/// Event{wall_time = 1, step = 2, and one of file_version = 3, summary = 5, session_log = 7}; a step of 0 is left out.
std::string event(double wall_time, std::int64_t step, std::string_view what) {
  return real(1, wall_time) + (step == 0 ? std::string() : integer(2, step)) + std::string(what);
}

/// Summary.value = 1: Value{tag = 1, simple_value = 2}.
std::string scalar(std::string_view tag, double value) {
  return bytes(1, bytes(1, tag) + real(2, static_cast<float>(value)));
}

/// Value{tag = 1, tensor = 8, metadata = 9}; TensorProto{dtype = 1 (7: string), tensor_shape = 2, string_val = 8} of
/// shape (1); SummaryMetadata.plugin_data = 1: PluginData.plugin_name = 1.
std::string text(std::string_view tag, std::string_view value) {
  const std::string shape = bytes(2, integer(1, 1));
  const std::string tensor = integer(1, 7) + bytes(2, shape) + bytes(8, value);
  const std::string metadata = bytes(1, bytes(1, "text"));
  return bytes(1, bytes(1, tag) + bytes(8, tensor) + bytes(9, metadata));
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::string_view prefix = "events.out.tfevents.";

/// The time in a file's name; 0 in other names.
std::int64_t time_in(const std::string& name) {
  constexpr std::int64_t most = 9'999'999'999;  // names get one more digit in the year 2286
  const std::int64_t time = name.starts_with(prefix) ? std::strtoll(name.c_str() + prefix.size(), nullptr, 10) : 0;
  return time <= most ? time : 0;
}

/// TensorBoard reads the files of a run in the order of their names. So the time in a new name is above those in the
/// existing names, even within one second or after the clock was set back.
fs::path new_file_in(const fs::path& run, double wall_time) {
  auto time = static_cast<std::int64_t>(wall_time);
  for (const std::string& name : entries_of(run)) time = std::max(time, time_in(name) + 1);
  return run / line_of(prefix, time, ".chargpt");
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& run, std::optional<std::int64_t> resume_step,
                                     std::int64_t log_interval, Clock clock, Complaint complain)
    : log_interval_(log_interval),
      clock_(clock ? std::move(clock) : seconds_since_1970),
      file_(new_file_in(run, clock_()), std::move(complain)) {
  file_.write(record(event(clock_(), 0, bytes(3, "brain.Event:2"))));
  if (!resume_step) return;
  const std::string session_start = bytes(7, integer(1, 1));  // SessionLog.status = START
  file_.write(record(event(clock_(), *resume_step + 1, session_start)));
}

void TensorBoardWriter::write_summary(std::int64_t step, std::string_view summary) {
  file_.write(record(event(clock_(), step, bytes(5, summary))));
}

void TensorBoardWriter::on(const StepEvent& event) {
  if (event.step != 1 && event.step % log_interval_ != 0 && event.share < 1) return;
  write_summary(event.step, scalar("train/loss", event.loss) + scalar("lr", event.lr) +
                                scalar("grad_norm", event.grad_norm) +
                                scalar("tokens_per_second", event.tokens_per_second));
}

void TensorBoardWriter::on(const EvalEvent& event) {
  std::string summary = scalar("val/loss", event.val_loss);
  if (event.train_loss) summary += scalar("train/eval_loss", *event.train_loss);
  write_summary(event.step, summary);
}

void TensorBoardWriter::on(const SampleEvent& event) {
  write_summary(event.step, text("sample", event.text));
}

}  // namespace chargpt
