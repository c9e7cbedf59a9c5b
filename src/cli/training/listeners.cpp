#include "cli/training/listeners.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/print_json.h"
#include "cli/process.h"
#include "report/log.h"
#include "report/metrics.h"
#include "report/sample_files.h"
#include "report/tensorboard.h"

namespace chargpt {

namespace {

/// RUN/config.json as the run really goes: under train.max_seconds its length is decided on the way.
class ConfigWriter : public Listener {
 public:
  ConfigWriter(const Trainer& trainer, std::filesystem::path path) : trainer_(trainer), path_(std::move(path)) {}
  void on(const PlanEvent&) override { write(); }
  void on(const CheckpointEvent&) override {
    if (trainer_.config().config.train.max_seconds > 0) write();
  }

 private:
  void write() const { write_file_atomically(path_, json_text(to_json(trainer_.config()))); }

  const Trainer& trainer_;
  std::filesystem::path path_;
};

std::shared_ptr<ProgressPrinter> progress_printer(const OutputArguments& output) {
  ProgressOptions options;
  options.is_terminal = repaints(STDERR_FILENO);
  options.color = uses_color(output.color, STDERR_FILENO);
  options.width = terminal_columns(STDERR_FILENO);
  options.quiet = output.quiet;
  options.verbose = output.verbose;
  return std::make_shared<ProgressPrinter>(options, write_progress);
}

}  // namespace

std::shared_ptr<ProgressPrinter> add_listeners(Trainer& trainer, const std::filesystem::path& run,
                                               const OutputArguments& output, std::optional<std::int64_t> resume_step) {
  const std::int64_t log_interval = trainer.config().config.eval.log_interval;
  const auto progress = progress_printer(output);
  const auto complain = [progress](const std::string& line) { progress->on(NoticeEvent{line}); };
  trainer.add_listener(progress);
  trainer.add_listener(std::make_shared<ConfigWriter>(trainer, run / "config.json"));
  trainer.add_listener(std::make_shared<MetricsWriter>(run / "metrics.jsonl", resume_step, log_interval, complain));
  trainer.add_listener(
      std::make_shared<TensorBoardWriter>(run, resume_step, log_interval, TensorBoardWriter::Clock(), complain));
  trainer.add_listener(std::make_shared<SampleFileWriter>(run, complain));
  return progress;
}

}  // namespace chargpt
