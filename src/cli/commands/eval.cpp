// `chargpt eval RUN…`: the exact loss of a whole split, of one model or of several as one.
#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/runs/figures.h"
#include "cli/runs/prepare.h"
#include "report/log.h"

namespace chargpt {

namespace {

/// Scores the networks as trained: each of them, and from their losses also their mean.
Figures figures_as_trained(const Prepared& prepared) {
  const JoinedRuns& runs = prepared.runs;
  const Scored& scored = prepared.scored;
  std::vector<Figures::Member> members;
  std::vector<float> losses;
  for (const LoadedRun& run : runs.all()) {
    const SplitLoss loss = split_loss(*run.network, scored.tokens, runs.block_size(), scored.stride,
                                      work_line("scoring the text by " + run.name));
    check_finite(loss, run.checkpoint.path.string());
    losses.insert(losses.end(), loss.losses.begin(), loss.losses.end());
    members.push_back({.name = run.name, .loss = loss.mean});
  }
  std::vector<float> of_mean(losses.size() / members.size());
  mean_of_losses(losses, of_mean);
  Figures figures = figures_of(scored, runs.block_size(), split_loss_of(std::move(of_mean)));
  if (runs.are_several()) figures.members = std::move(members);
  return figures;
}

/// Replaces the loss by that of the predictor with --adapt and --counts.
void add_predictor(Figures& figures, Prepared& prepared) {
  figures.adapted = prepared.adapted;
  figures.mixture = prepared.runs.mixture();
  if (!figures.adapted && figures.mixture == nullptr) return;
  const SplitLoss loss = score(prepared, work_line("scoring the text"));
  figures.network_loss = figures.loss;
  figures.loss = loss.mean;
  figures.tenths = tenths_of(loss.losses);
}

Report run_eval(const ScoringArguments& arguments) {
  if (arguments.adapt == "auto" && arguments.runs.size() > 1)
    throw Error(ExitCode::usage, "--adapt=auto chooses the rate of one run; for several write --adapt=RATE");
  Prepared prepared = prepare(arguments);
  if (prepared.own && !arguments.text.empty() && arguments.split.empty())
    log_note("this is the text that the model was trained on, scored as a whole; --split val scores the part held out");
  if (!prepared.no_training_text.empty()) log_note("no baselines: ", prepared.no_training_text);
  Figures figures = figures_as_trained(prepared);
  add_predictor(figures, prepared);
  if (figures.block_size > 64)
    figures.loss_windows_64 = split_loss(prepared.runs.trained(), prepared.scored.tokens, 64, 0,
                                         work_line("scoring the text in windows of 64"))
                                  .mean;
  if (const Corpus* trained_on = prepared.trained_on())
    figures.baselines = compute_baselines(*trained_on, prepared.scored.tokens, figures.block_size,
                                          prepared.scored.stride, work_line("measuring baselines"));
  Report report = report_of(figures);
  add_checkpoints(report.json, prepared.runs);
  report.json["texts"] = prepared.corpus.data().text;
  return report;
}

}  // namespace

void add_eval(Options& options) {
  ScoringArguments& arguments = arguments_for(options, run_eval);
  add_runs_argument(options, arguments.runs);
  options
      .add("--text", arguments.text,
           "score these texts as a whole instead of the run's own: files, folders, or - for standard input")
      .takes_words();
  options
      .add("--split", arguments.split,
           "the split to score (default: val of the run's own text, all of a --text); all leaves test out")
      .one_of({"train", "val", "test", "all"});
  options
      .add("--stride", arguments.stride,
           "overlapping windows: score only the last STRIDE characters of each; 0: no overlap, with --adapt half a "
           "window")
      .range(0);
  add_scoring_arguments(options, arguments, /*has_auto=*/true);
}

}  // namespace chargpt
