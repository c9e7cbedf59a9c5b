#include "experiment/compare/earlier_run.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "config/changed_options.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// A length in seconds or epochs settles max_iters; in seconds, it may limit evaluations too.
bool settles_length(const TrainConfig& train) {
  return train.max_seconds > 0 || train.max_epochs > 0;
}

/// Options that the run in `run` and `wanted` do not share, but for what its length has settled, and for the names of
/// the text, whose content is compared later.
std::vector<std::string> differences(const fs::path& run, const Config& wanted) {
  const ResolvedConfig kept = config_of_earlier(run);
  if (!kept.gone.empty()) return {kept.gone};
  std::vector<std::string> lines = changed_options(kept.config, wanted);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("data.text "); });
  if (settles_length(wanted.train))
    std::erase_if(lines, [](const std::string& line) {
      return line.starts_with("train.max_iters ") || line.starts_with("train.decay_steps ");
    });
  if (limits_evaluations(kept))
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("eval.eval_iters "); });
  return lines;
}

}  // namespace

ResolvedConfig config_of_earlier(const fs::path& run) {
  const fs::path path = run / "config.json";
  return parse_config(read_regular_file(path), path.string(), run);
}

void keep_length(ResolvedConfig& wanted, const ResolvedConfig& kept) {
  if (!settles_length(wanted.config.train)) return;
  wanted.config.train.max_iters = kept.config.train.max_iters;
  wanted.origin["train.max_iters"] = kept.origin.at("train.max_iters");
  wanted.config.train.decay_steps = kept.config.train.decay_steps;
  if (!limits_evaluations(kept)) return;
  wanted.config.eval.eval_iters = kept.config.eval.eval_iters;
  wanted.origin["eval.eval_iters"] = kept.origin.at("eval.eval_iters");
}

void refuse_another_run(const fs::path& run, const Config& wanted) {
  is_run(run) ? refuse_replaced(run) : refuse_strangers(run, "--out DIR");
  std::error_code ignored;
  if (!fs::exists(run / "config.json", ignored)) {
    if (list_checkpoints(run).empty() && !fs::exists(run / "val_losses.json", ignored)) return;
    throw Error(ExitCode::busy, run.string() + " holds results but no config.json; choose another --out");
  }
  const std::vector<std::string> lines = differences(run, wanted);
  if (!lines.empty())
    throw Error(ExitCode::busy, run.string() + " holds a run of other options (" + lines.front() +
                                    "); choose another --out, or remove that folder");
}

}  // namespace chargpt
