// train.ema: evaluated beside the trained weights, saved, resumed bit for bit.
#include "engine/optimizer.h"

#include "evaluate/split_loss.h"
#include "network/model.h"
#include "predict/network.h"
#include "small_run.h"

using namespace chargpt;

namespace {

ResolvedConfig averaged_config() {
  ResolvedConfig config = small_config();
  config.config.train.ema = 0.8;
  return config;
}

/// That averaging begins with the trained weights.
void check_averages_are_the_weights(Trainer& trainer) {
  CHECK(equal(trainer.arena().averages, trainer.arena().values));
}

}  // namespace

TEST_CASE("averaging weights changes no bit of the training") {
  EndedRun plain(small_config()), averaged(averaged_config());
  CHECK(averaged.recorder->losses() == plain.recorder->losses());
  CHECK(averaged.recorder->evaluations.back().val_loss == plain.recorder->evaluations.back().val_loss);
  CHECK_FALSE(plain.recorder->evaluations.back().averaged_val_loss);
}

TEST_CASE_METHOD(TestFolder, "the averaged weights' loss is that of those saved, and the better of two is the best") {
  EndedRun run(averaged_config(), path());
  const EvalEvent& last = run.recorder->evaluations.back();
  REQUIRE(last.averaged_val_loss);
  CHECK(*last.averaged_val_loss != last.val_loss);
  const Checkpoint checkpoint = last_checkpoint(path());
  CHECK(checkpoint.state.averaged_val_loss == *last.averaged_val_loss);
  CHECK(split_loss(run.trainer.engine(), run.trainer.corpus().val(), 8).mean == last.val_loss);
  const InferenceModel averaged(checkpoint, Weights::averaged);
  NetworkPredictor network(averaged, 1);
  CHECK(split_loss(network, run.trainer.corpus().val(), 8).mean == Approx(*last.averaged_val_loss));

  double best = run.recorder->evaluations[1].val_loss;
  for (std::size_t i = 1; i < run.recorder->evaluations.size(); ++i)
    best = std::min({best, run.recorder->evaluations[i].val_loss, *run.recorder->evaluations[i].averaged_val_loss});
  CHECK(run.trainer.state().best_val_loss == best);
}

TEST_CASE_METHOD(TestFolder, "averaging can begin with a resumed run's weights, which is said, or init_from's") {
  EndedRun first(small_config(), path(), 7);
  CHECK(last_checkpoint(path()).averaged.empty());
  ResumedRun second(averaged_config(), path());
  check_averages_are_the_weights(second.trainer);
  SmallRun third(averaged_config());
  third.trainer.init_from(last_checkpoint(path()));
  check_averages_are_the_weights(third.trainer);
  second.trainer.run();
  CHECK(second.recorder->noticed("has no averaged weights: averaging starts from its trained ones"));
  CHECK_FALSE(last_checkpoint(path()).averaged.empty());
}
