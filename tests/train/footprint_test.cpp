// What a run will take, by its sizes alone.
#include "train/plan.h"

#include "inference/model_types.h"
#include "test.h"

using namespace chargpt;

namespace {

Config small() {
  Config config;
  config.model.n_layer = 2;
  config.model.n_embd = 32;
  config.train.keep = 1;
  return config;
}

std::int64_t disk(const Config& config) {
  return disk_estimate(config, /*vocab_size=*/65, count_parameters(config.model, 65));
}

std::int64_t memory(const Config& config) {
  return memory_estimate(config, {.vocab_size = 65, .parameters = count_parameters(config.model, 65)});
}

}  // namespace

TEST_CASE("a group of Muon has one moment, on disk and in memory") {
  const Config adamw = small();
  Config muon = small();
  muon.train.groups = {{.match = "mlp", .optimizer = UpdateRule::muon}};
  const std::int64_t bytes = 4 * 2 * (2 * 32 * 4 * 32);  // float32, two layers, two matrices of (4 C, C)
  CHECK(memory(adamw) - memory(muon) == bytes);
  CHECK(disk(adamw) - disk(muon) == 2 * bytes);  // the checkpoint that is kept, and the best
}
