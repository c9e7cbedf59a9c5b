#include "report/metrics.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

using Row = nlohmann::ordered_json;

Row figure(double value) {
  return std::isfinite(value) ? Row(value) : Row(nullptr);
}

Row figure(const std::optional<double>& value) {
  return value ? figure(*value) : Row(nullptr);
}

/// Texts may hold bytes that are not UTF-8 (a path); they become U+FFFD.
std::string line(const Row& row) {
  return json_text(row, -1);
}

bool is_kept(std::string_view line, std::int64_t step) {
  const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!row.is_object()) return false;
  const auto found = row.find("step");
  return found == row.end() || !found->is_number() || found->get<double>() <= static_cast<double>(step);
}

/// Prepares `path` for appending: emptied, or cut back to `resume_step`.
std::filesystem::path cut_back(std::filesystem::path path, std::optional<std::int64_t> resume_step) {
  const bool has_rows = resume_step && std::filesystem::exists(path);
  write_file_atomically(path, has_rows ? rows_up_to(read_regular_file(path), *resume_step) : std::string());
  return path;
}

}  // namespace

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
  std::ifstream file(run / "metrics.jsonl", std::ios::binary | std::ios::ate);
  constexpr std::streamoff longest_row = 1 << 12;
  const std::streamoff size = file.tellg(), from = std::max<std::streamoff>(0, size - longest_row);
  if (!file || !file.seekg(from)) return Ending::unknown;
  std::string tail(std::istreambuf_iterator<char>(file), {});
  if (tail.empty() || tail.back() != '\n') return Ending::unknown;
  tail.pop_back();
  const auto row = nlohmann::json::parse(tail.substr(tail.rfind('\n') + 1), nullptr, /*allow_exceptions=*/false);
  if (!row.is_object() || row.value("kind", Row()) != "end" || !row.contains("ended")) return Ending::unknown;
  return row["ended"].is_string() ? enum_value<Ending>(row["ended"].get<std::string>()).value_or(Ending::unknown)
                                  : Ending::unknown;
}

MetricsWriter::MetricsWriter(std::filesystem::path path, std::optional<std::int64_t> resume_step,
                             std::int64_t log_interval, Complaint complain)
    : log_interval_(log_interval),
      step_(resume_step.value_or(0)),
      file_(cut_back(std::move(path), resume_step), OutputFile::Start::append, std::move(complain)) {}

void MetricsWriter::on(const PlanEvent& event) {
  step_ = event.start_step;
  file_.write(line({{"kind", "plan"},
                    {"step", event.start_step},
                    {"config", event.config},
                    {"run", event.run},
                    {"device", event.device},
                    {"cpu_capability", event.cpu_capability},
                    {"engine", event.engine},
                    {"dtype", event.dtype},
                    {"model_type", event.model_type},
                    {"leaks", event.leaks},
                    {"threads", event.threads},
                    {"parameters", event.parameters},
                    {"vocab_size", event.vocab_size},
                    {"train_tokens", event.train_tokens},
                    {"val_tokens", event.val_tokens},
                    {"tokens_per_step", event.tokens_per_step},
                    {"max_iters", event.max_iters},
                    {"length_set_by", event.length_set_by},
                    {"epochs", figure(event.epochs)},
                    {"memory_bytes", event.memory_bytes},
                    {"disk_bytes", event.disk_bytes},
                    {"expected_seconds", figure(event.seconds)}}));
}

void MetricsWriter::on(const StepEvent& event) {
  step_ = event.step;
  if (event.step != 1 && event.step % log_interval_ != 0 && event.step != event.max_iters) return;
  Row row = {{"kind", "train"},
             {"step", event.step},
             {"loss", figure(event.loss)},
             {"lr", figure(event.lr)},
             {"grad_norm", figure(event.grad_norm)},
             {"tokens_per_second", figure(event.tokens_per_second)},
             {"seconds", figure(event.seconds)}};
  if (event.rank_seconds) row["rank_seconds"] = figure(*event.rank_seconds);
  file_.write(line(row));
}

void MetricsWriter::on(const EvalEvent& event) {
  step_ = event.step;
  Row row = {{"kind", "eval"},
             {"step", event.step},
             {"train_loss", figure(event.train_loss)},
             {"val_loss", figure(event.val_loss)},
             {"best", event.best},
             {"best_val_loss", figure(event.best_val_loss)},
             {"exact", event.exact},
             {"seconds", figure(event.seconds)},
             {"training_seconds", figure(event.training_seconds)}};
  if (event.averaged_val_loss) row["averaged_val_loss"] = figure(*event.averaged_val_loss);
  if (event.leaks) row["leaks"] = true;
  file_.write(line(row));
}

void MetricsWriter::on(const CheckpointEvent& event) {
  step_ = event.step;
  file_.write(
      line({{"kind", "checkpoint"}, {"step", event.step}, {"path", event.path.string()}, {"best", event.best}}));
}

void MetricsWriter::on(const NoticeEvent& event) {
  file_.write(line({{"kind", "notice"}, {"step", step_}, {"line", event.line}}));
}

void MetricsWriter::on(const EndEvent& event) {
  step_ = event.step;
  file_.write(line({{"kind", "end"},
                    {"step", event.step},
                    {"ended", enum_name(event.ended)},
                    {"max_iters", event.max_iters},
                    {"seconds", figure(event.seconds)}}));
}

}  // namespace chargpt
