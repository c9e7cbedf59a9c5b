#include "report/files/metrics.h"

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/report.h"

namespace chargpt {
namespace {

using Row = nlohmann::ordered_json;

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
          {"memory_bytes", or_null(plan.memory_bytes)},
          {"disk_bytes", plan.disk_bytes},
          {"expected_seconds", or_null(plan.seconds)}};
}

std::string rows_up_to(const std::string& metrics, std::int64_t step) {
  std::istringstream lines(metrics.substr(0, metrics.rfind('\n') + 1));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const Row row = foreign_json(line);
    if (row.is_object() && !(number_in(row, "step") > static_cast<double>(step))) kept += line + "\n";
  }
  return kept;
}

Ending ending_in(const Row& row) {
  const Row ended = row.is_object() && row.value("kind", Row()) == "end" ? row.value("ended", Row()) : Row();
  return ended.is_string() ? enum_value<Ending>(ended.get<std::string>()).value_or(Ending::unknown) : Ending::unknown;
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
  return ending_in(foreign_json(tail.substr(tail.rfind('\n') + 1)));
}

MetricsWriter::MetricsWriter(std::filesystem::path path, std::optional<std::int64_t> resume_step,
                             std::int64_t log_interval, Complaint complain)
    : log_interval_(log_interval), file_(cut_back(std::move(path), resume_step), std::move(complain)) {}

void MetricsWriter::on(const PlanEvent& event) {
  Row row = {{"kind", "plan"}};
  row.update(to_json(event));
  file_.write(json_text(row, -1));
}

void MetricsWriter::on(const StepEvent& event) {
  if (event.step != 1 && event.step % log_interval_ != 0 && event.share < 1) return;
  const Row row = {
      {"kind", "train"},      {"step", event.step},           {"loss", event.loss},
      {"lr", event.lr},       {"grad_norm", event.grad_norm}, {"tokens_per_second", event.tokens_per_second},
      {"share", event.share}, {"seconds", event.seconds}};
  file_.write(json_text(row, -1));
}

void MetricsWriter::on(const EvalEvent& event) {
  Row row = {{"kind", "eval"},
             {"step", event.step},
             {"train_loss", or_null(event.train_loss)},
             {"val_loss", event.val_loss},
             {"best", event.best},
             {"best_val_loss", event.best_val_loss},
             {"exact", event.exact},
             {"seconds", event.seconds},
             {"training_seconds", event.training_seconds}};
  if (event.averaged_val_loss) row["averaged_val_loss"] = *event.averaged_val_loss;
  if (event.leaks) row["leaks"] = true;
  file_.write(json_text(row, -1));
}

void MetricsWriter::on(const CheckpointEvent& event) {
  const Row row = {{"kind", "checkpoint"}, {"step", event.step}, {"path", event.path.string()}, {"best", event.best}};
  file_.write(json_text(row, -1));
}

void MetricsWriter::on(const NoticeEvent& event) {
  file_.write(json_text({{"kind", "notice"}, {"step", event.step}, {"line", event.line}}, -1));
}

void MetricsWriter::on(const EndEvent& event) {
  const Row row = {{"kind", "end"},
                   {"step", event.step},
                   {"ended", enum_name(event.ended)},
                   {"max_iters", event.max_iters},
                   {"seconds", event.seconds}};
  file_.write(json_text(row, -1));
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
  constexpr std::uint64_t most_at_once = 4 << 20;  // bytes; the length of no row
  for (bool at_end = false; !at_end;) {
    FileStretch rows;
    try {
      rows = read_stretch(path_, offset_, most_at_once);
    } catch (const Error& error) {
      if (error.code() != ExitCode::missing) throw;
    }
    if (identity_ != rows.identity || rows.size < offset_) {
      const bool again = offset_ > 0;
      *this = MetricsReader(path_);
      identity_ = rows.identity;
      begin();
      if (again) continue;
    }
    at_end = rows.bytes.size() < most_at_once;
    rows.bytes.resize(rows.bytes.rfind('\n') + 1);  // to 0 if no line is complete
    if (rows.bytes.empty() && !at_end)
      throw Error(ExitCode::data, printable_path(path_), ": line ", lines_ + 1, " is longer than ", most_at_once,
                  " bytes, so it is not a metrics file");
    offset_ += rows.bytes.size();
    std::istringstream lines(std::move(rows.bytes));
    for (std::string line; std::getline(lines, line);) {
      ++lines_;
      const Row row = foreign_json(line);
      if (row.is_object() && row.contains("kind") && row["kind"].is_string())
        visit(row);
      else if (++broken_ == 1)
        first_broken_ = lines_;
    }
  }
}

std::string MetricsReader::complaint() const {
  if (broken_ == 0) return "";
  return printable_path(path_) + ": skipped " + std::to_string(broken_) + " malformed " +
         (broken_ == 1 ? "line" : "lines") + " (first: line " + std::to_string(first_broken_) + ")";
}

}  // namespace chargpt
