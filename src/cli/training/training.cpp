#include "cli/training/training.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/figures.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "compare/runs.h"
#include "config/describe.h"
#include "kernels/processor.h"
#include "report/files/metrics.h"
#include "report/files/tensorboard.h"
#include "report/format.h"
#include "report/log.h"
#include "run/checkpoints.h"
#include "run/run_files.h"

namespace chargpt {

namespace {

/// Samples the best checkpoint from the start symbol with the current options: one text, or several documents.
std::string final_sample(const LoadedRun& best, SampleConfig sample) {
  constexpr std::int64_t documents = 10;
  const Vocabulary& vocabulary = best.checkpoint.vocabulary;
  sample.num_samples = best.has_documents() ? documents : 1;
  std::vector<std::string> texts;
  for (const auto& ids : samples_of(best, sample, /*seed=*/1337, work_line("writing a sample")))
    texts.push_back(vocabulary.decode(ids));
  return joined(texts, between_samples(best.config().data));
}

Figures final_figures(const Trainer& trainer, const LoadedRun& best) {
  const Corpus& corpus = trainer.corpus();
  constexpr double shown_after = 0.5;  // seconds
  const std::vector<float>& known = trainer.best_losses();
  const Scored scored = part_to_score(corpus, "val", best);
  const std::int64_t block_size = best.model->block_size();
  const SplitLoss loss =
      known.empty() ? split_loss(*best.network, scored.tokens, block_size, 0, work_line("evaluating", shown_after))
                    : split_loss_of(known);
  Figures figures = figures_of(scored, block_size, loss);
  constexpr std::int64_t most_compressed = 2'000'000;  // tokens; PPMd takes a second for them
  figures.baselines =
      compute_baselines(corpus, corpus.val(), block_size, /*stride=*/0, work_line("measuring baselines", shown_after),
                        corpus.train().size() <= most_compressed);
  return figures;
}

/// "overfitted: …" if the last evaluation was clearly worse than the best, "unstable: …" if it was on the training text
/// too; else empty.
std::string overfitting_line(const Trainer& trainer) {
  constexpr double clearly = 0.02;
  const RunState& state = trainer.state();
  const double last = evaluated_loss(state), best = best_loss(state);
  if (!std::isfinite(last) || last <= best + clearly) return "";
  const bool unstable = trainer.train_loss() > best + clearly;
  return line_of(unstable ? "unstable" : "overfitted", ": validation loss rose from ", format_nats(best, state.exact),
                 " to ", format_nats(last, state.exact), " since step ", format_count(state.best_step),
                 "; the figures above are of that step. ",
                 unstable
                     ? "The loss on the training text rose too: lower train.learning_rate, or set train.grad_clip\n"
                     : "More steps will not help; a longer text, a smaller model or --dropout 0.2 can\n");
}

/// Prints figures of the best checkpoint on the validation split and a sample of it; keeps the figures in RUN/run.json.
/// Throws Stopped if a signal came meanwhile: the run itself is complete.
void print_result(const Trainer& trainer, const std::filesystem::path& run, const OutputArguments& output) {
  is_training = false;
  try {
    const RunState& state = trainer.state();
    const LoadedRun best(run.string(), loaded_checkpoint(run, "best"), run, {.machine = {.threads = state.threads}});
    const Figures figures = final_figures(trainer, best);
    Json json = to_json(figures);
    json["checkpoint"] = {{"step", best.checkpoint.state.step}, {"path", best.checkpoint.path.string()}};
    json["run"] = run.string();
    json["ended"] = enum_name(state.ended);
    json["seconds"] = state.seconds;
    keep_run_fact(run, "figures", json);
    const std::string sample = final_sample(best, trainer.config().config.sample);
    add_text(json, "sample", sample);
    Report report(std::move(json));
    const std::string name = shell_quoted(run.native());
    report.say(summary(figures, best.checkpoint.state.step) + overfitting_line(trainer) + "more: chargpt eval " + name +
               ", chargpt sample " + name + "\n\n");
    report.draw(sample + "\n");
    print_report(report, output);
  } catch (const Interrupted&) {
    log_note("the run is saved; to evaluate it:");
    log_hint("chargpt eval ", shell_quoted(run.native()));
    throw Stopped{stopping_signal()};
  }
}

/// Notes on stderr if no evaluation improved on the loss before training.
void note_no_best(const Trainer& trainer) {
  const RunState& state = trainer.state();
  if (state.best_step >= 0 || !std::isfinite(state.val_loss) || state.step == 0) return;
  const double begun = state.best_val_loss;  // with --init_from, that of the initial weights
  const std::int64_t symbols = trainer.corpus().vocabulary().size();
  if (symbols == 1) return log_note("the text repeats one symbol, so there is nothing to learn");
  log_note("lower train.learning_rate (", trainer.config().config.train.learning_rate,
           ") or train longer: validation loss was never below ",
           std::isfinite(begun) ? "its value before training, " + format_loss(begun, state.exact)
                                : "that of guessing, " + format_loss(std::log(symbols)));
}

/// Notes on stderr why training ended and how to continue. Must precede the exit of other ranks: mpirun may kill this
/// process then.
void note_end(const Trainer& trainer, const std::filesystem::path& run, bool stopped) {
  note_no_best(trainer);
  const RunState& state = trainer.state();  // after patience or overfitting, more steps do not help
  const bool continues = stopped || (state.ended != Ending::patience && overfitting_line(trainer).empty());
  log_note(stopped ? line_of("stopped at step ", state.step, " and saved") : why_ended(trainer.ended()),
           continues ? "; to continue:" : "");
  if (continues)  // more threads than processors need the option
    log_hint(command_to_go_on(trainer.ended(), run.native()),
             state.threads > usable_processors() ? line_of(" --threads ", state.threads) : "");
}

}  // namespace

std::shared_ptr<ProgressPrinter> add_listeners(Trainer& trainer, const std::filesystem::path& run,
                                               const TrainingArguments& arguments,
                                               std::optional<std::int64_t> resume_step) {
  const std::int64_t log_interval = trainer.config().config.eval.log_interval;
  const OutputArguments& output = arguments.output;
  const ProgressOptions options{
      .columns = arguments.child_line != ChildLine::hidden ? repainted_columns(STDERR_FILENO) : 0,
      .color = uses_color(output.color, STDERR_FILENO),
      .quiet = output.quiet,
      .brief = arguments.is_child(),
      .verbose = output.verbose};
  const auto progress = std::make_shared<ProgressPrinter>(options, write_progress);
  const auto complain = [progress](const std::string& line) { progress->on(NoticeEvent{line}); };
  trainer.add_listener(progress);
  trainer.add_listener(std::make_shared<MetricsWriter>(run / "metrics.jsonl", resume_step, log_interval, complain));
  trainer.add_listener(
      std::make_shared<TensorBoardWriter>(run, resume_step, log_interval, TensorBoardWriter::Clock(), complain));
  trainer.add_listener(std::make_shared<SampleFileWriter>(run, complain));
  write_file_atomically(run / "config.json", json_text(to_json(trainer.config())));
  return progress;
}

void add_training_arguments(Options& options, TrainingArguments& arguments) {
  arguments.config.add(options, {"data", "model", "train", "eval", "sample"});
  options.add("--engine", arguments.engine, "auto, cpu or libtorch").group("Machine");
  add_device_arguments(options, arguments.device);
}

void add_rank_timeout(Options& options, TrainingArguments& arguments) {
  options
      .add("--rank-timeout", arguments.rank_timeout,
           "with several processes (mpirun, srun): seconds to wait for one that hangs before all end")
      .positive()
      .group("Machine");
}

TrainerOptions trainer_options(const TrainingArguments& arguments, const ProcessGroup* group) {
  is_training = true;
  return {.run = {},
          .device = group != nullptr ? group->device() : arguments.device.device,
          .engine = arguments.engine,
          .threads = group != nullptr ? group->threads() : arguments.device.threads,
          .stop = &stop_on_signals(arguments.output.quiet || arguments.is_child()),
          .process_started = program_start_seconds(),
          .program_version = program_version(),
          .ranks = group != nullptr ? &group->ranks() : nullptr};
}

void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step, ProcessGroup& group) {
  const bool reports = group.first() && !arguments.is_child();
  std::shared_ptr<ProgressPrinter> progress;
  if (group.first()) {
    group.trains(run);
    tell(group.notice(trainer.config().config));
    if (!trainer.caution().empty()) keep_run_fact(run, caution_fact, trainer.caution());
    progress = add_listeners(trainer, run, arguments, resume_step);
  }
  const bool stopped = trainer.run() == Ending::stopped;
  if (progress) progress->finish();
  if (arguments.is_child()) mark_times(run, /*jobs=*/1);
  if (reports) note_end(trainer, run, stopped);
  const std::vector<int> signals = gathered<int>(group.ranks(), stopping_signal());  // one to any rank stops all
  group.ranks().finish();
  if (stopped) throw Stopped{std::ranges::max(signals)};
  if (reports) print_result(trainer, run, arguments.output);
}

}  // namespace chargpt
