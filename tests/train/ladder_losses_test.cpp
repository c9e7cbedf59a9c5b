// The ladder's presets, trained whole, end at the losses of the teaching notebook that they come from.
#include "config/load.h"
#include "small_run.h"
#include "tinyshakespeare.h"

namespace chargpt {
namespace {

/// The notebook's loss of the whole validation split after as many steps; it restarts the optimizer half-way.
void check_ends_at(const std::string& rung, double loss, double margin) {
  ResolvedConfig config = load_config("ladder/" + rung);
  config.config.eval.sample_tokens = 0;
  const EndedRun run(config, {}, -1, tinyshakespeare());
  const EvalEvent& last = run.recorder->evaluations.back();
  INFO(rung << " ended at " << last.val_loss);
  CHECK(last.step == config.config.train.max_iters);
  CHECK(last.val_loss == Approx(loss).margin(margin).epsilon(0));
}

}  // namespace

TEST_CASE("the ladder's small models end at the notebook's losses", "[long]") {
  NEEDS_TINYSHAKESPEARE();
  check_ends_at("bigram", 2.4868, 0.01);
  check_ends_at("average", 2.4042, 0.01);
  check_ends_at("masked", 2.4902, 0.01);
}

TEST_CASE("the ladder's transformer ends at the notebook's loss", "[soak]") {
  NEEDS_TINYSHAKESPEARE();
  check_ends_at("transformer", 1.8782, 0.02);
}

}  // namespace chargpt
