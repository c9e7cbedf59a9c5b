#include "compare/scoring.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "engine/device.h"
#include "evaluate/split_loss.h"
#include "network/model.h"
#include "predict/network.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "train/schedule.h"

namespace chargpt {

TrainedRun score_run(const std::string& name, const fs::path& place, const Corpus& corpus, bool test,
                     std::int64_t threads, const Heartbeat& heartbeat) {
  const fs::path run = run_of(place);
  const bool is_one = run.empty() || is_file(place);  // a checkpoint
  const std::vector<fs::path> all = is_one ? std::vector<fs::path>() : list_checkpoints(run);
  const Checkpoint scored = load_checkpoint(all.empty() ? place : all.back(), "last");  // only the last one
  const RunState last = run.empty() || !is_one ? scored.state : load_checkpoint(run, "last").state;
  const Config& config = scored.config.config;
  const InferenceModel model(scored, scored.averaged.empty() ? Weights::trained : Weights::averaged);
  NetworkPredictor network(model, thread_count(threads));
  const SplitLoss loss =
      split_loss(network, test ? corpus.test() : corpus.val(), config.model.block_size, 0, heartbeat);
  if (!std::isfinite(loss.mean))
    throw Error(ExitCode::diverged, scored.path.string(), " has no finite loss: its weights have diverged");
  const nlohmann::ordered_json jobs = run_fact(run, "jobs");
  TrainedRun trained{.name = name,
                     .config = scored.config,
                     .params = scored.state.parameters,
                     .seed = {.seed = config.train.seed,
                              .loss = loss.mean,
                              .seconds = last.seconds,
                              .tokens_per_second = training_speed(config, last.step, last.training_seconds),
                              .step = scored.state.step,
                              .steps = last.step,
                              .ended = last.ended,
                              .jobs = jobs.is_number_integer() ? jobs.get<std::int64_t>() : 1,  // 1: not recorded
                              .caution = kept_caution(place),
                              .run = run.empty() ? place : run}};
  if (!test && last.best_step >= 0 && last.exact)
    std::tie(trained.seed.lowest_loss, trained.seed.lowest_step) = std::tie(last.best_val_loss, last.best_step);
  return trained;
}

}  // namespace chargpt
