#include "learner/learner.h"

#include <vector>

#include "learner/schedule.h"
#include "model/registry.h"

namespace chargpt {
namespace {

std::shared_ptr<LanguageModel> model_on(const torch::Device& device, const Config& config, std::int64_t vocab_size) {
  auto model = make_model(config.model, vocab_size, static_cast<std::uint64_t>(config.train.seed));
  model->to(device);
  return model;
}

}  // namespace

Learner::Learner(const Config& config_in, const Corpus& corpus, const torch::Device& device_in,
                 const std::string& engine_name, Communicator& ranks_in)
    : config(config_in.train),
      device(device_in),
      model(model_on(device, config_in, corpus.vocabulary().size())),
      arena(*model, config),
      averages(arena, config.ema),
      batches(corpus.train(), config_in.model.block_size, config.batch_size, config.gradient_accumulation_steps,
              config.windows, static_cast<std::uint64_t>(config.seed)),
      engine(make_engine(engine_name, *model, arena, config)),
      ranks(ranks_in),
      scorer(*engine, ranks) {}

StepResult Learner::make_step(std::int64_t step, const Heartbeat& heartbeat) {
  const std::vector<std::int64_t> starts = batches.starts(step);
  std::vector<WindowBatch> parts = batches.micro_batches(starts);
  const Part own = part_of(config.batch_size, ranks.ranks(), ranks.rank());
  for (WindowBatch& part : parts) part = part.part(own.begin, own.size);
  return chargpt::make_step(*engine, arena, config, learning_rate_factor(config, step),
                            {.step = step,
                             .seed = static_cast<std::uint64_t>(config.seed),
                             .micro_batches = parts,
                             .share = share_of(ranks, config.batch_size),
                             .heartbeat = heartbeat},
                            ranks);
}

LearnerSnapshot Learner::snapshot() {
  return {.arena = arena.snapshot(), .averages = averages.copy()};
}

void Learner::restore(const LearnerSnapshot& snapshot) {
  arena.restore(snapshot.arena);
  averages = snapshot.averages.copy();
}

bool Learner::load(const Checkpoint& checkpoint) {
  arena.load_model(*checkpoint.model, (checkpoint.path / "model.safetensors").string());
  arena.load_optimizer(*checkpoint.optimizer, (checkpoint.path / "optimizer.safetensors").string());
  return averages.load(arena, checkpoint);
}

}  // namespace chargpt
