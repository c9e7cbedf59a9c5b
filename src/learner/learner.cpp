#include "learner/learner.h"

#include <algorithm>
#include <vector>

#include "learner/schedule.h"
#include "model/registry.h"
#include "optimizer/optimizer.h"

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
      scorer(*engine, ranks) {
  DeviceEngine* const recordable = engine->recordable();
  if (recordable != nullptr && ranks.alone() && has_device_update(arena))
    device_steps = std::make_unique<DeviceSteps>(*recordable, arena, averages, config);
}

namespace {

/// Steps whose windows and rates are sent to the device together.
std::vector<StepResult> steps_on_device(Learner& learner, std::int64_t step, std::int64_t count) {
  std::vector<std::int64_t> starts;
  std::vector<double> lr_factors;
  for (std::int64_t i = step; i < step + count; ++i) {
    const std::vector<std::int64_t> of_step = learner.batches.starts(i);
    starts.insert(starts.end(), of_step.begin(), of_step.end());
    lr_factors.push_back(learning_rate_factor(learner.config, i));
  }
  const WindowBatch windows = learner.batches.micro_batches(starts).front();
  return learner.device_steps->take(step, lr_factors,
                                    {.text = windows.tokens,
                                     .T = windows.T,
                                     .B = windows.B(),
                                     .micro_batches = learner.config.gradient_accumulation_steps,
                                     .starts = starts});
}

}  // namespace

StepResult Learner::make_step(std::int64_t step, std::int64_t end, const Heartbeat& heartbeat) {
  if (device_steps) {
    if (ahead.empty()) {
      if (heartbeat) heartbeat(0);
      const std::int64_t most = std::min(most_steps_at_once, device_steps->worthwhile());
      const std::int64_t count = std::clamp(end - step, std::int64_t{1}, most);
      const std::vector<StepResult> made = steps_on_device(*this, step, count);
      ahead.assign(made.begin(), made.end());
    }
    const StepResult result = ahead.front();
    ahead.pop_front();
    return result;
  }
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

void Learner::follow() {
  if (!device_steps) averages.follow(arena);  // else they have
}

std::string Learner::take_notice() {
  const std::string of_engine = engine->take_notice();
  return of_engine.empty() && device_steps ? device_steps->take_notice() : of_engine;
}

LearnerSnapshot Learner::snapshot() {
  return {.arena = arena.snapshot(), .averages = averages.copy()};
}

void Learner::restore(const LearnerSnapshot& snapshot) {
  ahead.clear();
  arena.restore(snapshot.arena);
  averages.put_back(snapshot.averages);
}

bool Learner::load(const Checkpoint& checkpoint) {
  ahead.clear();
  arena.load_model(*checkpoint.model, (checkpoint.path / "model.safetensors").string());
  arena.load_optimizer(*checkpoint.optimizer, (checkpoint.path / "optimizer.safetensors").string());
  return averages.load(arena, checkpoint);
}

}  // namespace chargpt
