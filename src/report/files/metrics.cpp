#include "report/files/metrics.h"

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/format.h"

namespace chargpt {
namespace {

using Row = nlohmann::ordered_json;

constexpr std::uint64_t most_at_once = 1 << 20, longest_line = 4 << 20;  ///< bytes

template <class Value>
Row figure(const std::optional<Value>& value) {
  return value ? Row(*value) : Row(nullptr);
}

/// Text bytes that are not UTF-8 (in a path) become U+FFFD; numbers that are not finite become null.
std::string line(const Row& row) {
  return json_text(row, -1);
}

bool is_kept(std::string_view line, std::int64_t step) {
  const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!row.is_object()) return false;
  const auto found = row.find("step");
  return found == row.end() || !found->is_number() || found->get<double>() <= static_cast<double>(step);
}

/// Prepares `path` for appending: empties it or, with `resume_step`, removes later rows.
std::filesystem::path cut_back(std::filesystem::path path, std::optional<std::int64_t> resume_step) {
  const bool has_rows = resume_step && std::filesystem::exists(path);
  write_file_atomically(path, has_rows ? rows_up_to(read_regular_file(path), *resume_step) : std::string());
  return path;
}

}  // namespace

Row to_json(const PlanEvent& plan) {
  return {{"step", plan.start_step},
          {"config", plan.config},
          {"run", plan.run},
          {"device", plan.device},
          {"cpu_capability", plan.cpu_capability},
          {"engine", plan.engine},
          {"dtype", plan.dtype},
          {"model_type", plan.model_type},
          {"leaks", plan.leaks},
          {"threads", plan.threads},
          {"parameters", plan.parameters},
          {"vocab_size", plan.vocab_size},
          {"train_tokens", plan.train_tokens},
          {"val_tokens", plan.val_tokens},
          {"test_tokens", plan.test_tokens},
          {"text_tokens", plan.text_tokens},
          {"text_files", plan.text_files},
          {"left_out", plan.left_out},
          {"tokens_per_step", plan.tokens_per_step},
          {"max_iters", plan.max_iters},
          {"by_clock", plan.by_clock},
          {"length_set_by", plan.length_set_by},
          {"epochs", plan.epochs},
          {"memory_bytes", figure(plan.memory_bytes)},
          {"disk_bytes", plan.disk_bytes},
          {"expected_seconds", figure(plan.seconds)}};
}

std::string rows_up_to(const std::string& metrics, std::int64_t step) {
  std::string kept;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = metrics.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line(metrics.data() + begin, end - begin);
    if (is_kept(line, step)) kept.append(line).append("\n");
  }
  return kept;
}

Ending ending_in_metrics(const std::filesystem::path& run) {
  constexpr std::uint64_t longest_row = 1 << 12;
  std::string tail;
  try {
    const std::filesystem::path path = run / "metrics.jsonl";
    const std::uint64_t size = read_stretch(path, 0, 0).size;
    tail = read_stretch(path, size - std::min(size, longest_row), longest_row).bytes;
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing) throw;
  }
  if (tail.empty() || tail.back() != '\n') return Ending::unknown;
  tail.pop_back();
  const auto row = nlohmann::json::parse(tail.substr(tail.rfind('\n') + 1), nullptr, /*allow_exceptions=*/false);
  if (!row.is_object() || row.value("kind", Row()) != "end" || !row.contains("ended")) return Ending::unknown;
  return row["ended"].is_string() ? enum_value<Ending>(row["ended"].get<std::string>()).value_or(Ending::unknown)
                                  : Ending::unknown;
}

MetricsWriter::MetricsWriter(std::filesystem::path path, std::optional<std::int64_t> resume_step,
                             std::int64_t log_interval, Complaint complain)
    : log_interval_(log_interval), file_(cut_back(std::move(path), resume_step), std::move(complain)) {}

void MetricsWriter::on(const PlanEvent& event) {
  Row row = {{"kind", "plan"}};
  row.update(to_json(event));
  file_.write(line(row));
}

void MetricsWriter::on(const StepEvent& event) {
  if (event.step != 1 && event.step % log_interval_ != 0 && event.share < 1) return;
  const Row row = {
      {"kind", "train"},      {"step", event.step},           {"loss", event.loss},
      {"lr", event.lr},       {"grad_norm", event.grad_norm}, {"tokens_per_second", event.tokens_per_second},
      {"share", event.share}, {"seconds", event.seconds}};
  file_.write(line(row));
}

void MetricsWriter::on(const EvalEvent& event) {
  Row row = {{"kind", "eval"},
             {"step", event.step},
             {"train_loss", figure(event.train_loss)},
             {"val_loss", event.val_loss},
             {"best", event.best},
             {"best_val_loss", event.best_val_loss},
             {"exact", event.exact},
             {"seconds", event.seconds},
             {"training_seconds", event.training_seconds}};
  if (event.averaged_val_loss) row["averaged_val_loss"] = *event.averaged_val_loss;
  if (event.leaks) row["leaks"] = true;
  file_.write(line(row));
}

void MetricsWriter::on(const CheckpointEvent& event) {
  file_.write(
      line({{"kind", "checkpoint"}, {"step", event.step}, {"path", event.path.string()}, {"best", event.best}}));
}

void MetricsWriter::on(const NoticeEvent& event) {
  file_.write(line({{"kind", "notice"}, {"step", event.step}, {"line", event.line}}));
}

void MetricsWriter::on(const EndEvent& event) {
  file_.write(line({{"kind", "end"},
                    {"step", event.step},
                    {"ended", enum_name(event.ended)},
                    {"max_iters", event.max_iters},
                    {"seconds", event.seconds}}));
}

void SampleFileWriter::on(const SampleEvent& event) {
  if (!is_at(run_, folder_)) return;  // the folder was replaced: the next save ends the run
  try {
    make_folder(run_ / "samples");
    write_file_atomically(run_ / "samples" / formatted("step-%08" PRId64 ".txt", event.step), event.text);
  } catch (const Error& failure) {
    if (!complain_ || failure.code() != ExitCode::io) throw;
    complain_(failure.what());
  }
}

double number_in(const Row& row, const char* key) {
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
    if (identity_ != stretch.identity || stretch.size < offset_) {
      const bool again = offset_ > 0;
      identity_ = stretch.identity;
      offset_ = 0;
      unfinished_.clear();
      lines_ = broken_ = first_broken_ = 0;
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
                  " bytes, so it is not a metrics file");
  }
}

std::string MetricsReader::complaint() const {
  if (broken_ == 0) return "";
  return printable_path(path_) + ": skipped " + std::to_string(broken_) + " malformed " +
         (broken_ == 1 ? "line" : "lines") + " (first: line " + std::to_string(first_broken_) + ")";
}

void MetricsReader::take(const std::string& line, const Visit& visit) {
  ++lines_;
  const Row row = foreign_json(line);
  const bool whole = row.is_object() && row.contains("kind") && row["kind"].is_string();
  if (whole) return visit(row);
  if (++broken_ == 1) first_broken_ = lines_;
}

}  // namespace chargpt
