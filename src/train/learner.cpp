#include "train/learner.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/part.h"
#include "network/initial_weights.h"

namespace chargpt {
namespace {

/// Draws the initial weights before the engine reads them.
std::unique_ptr<Engine> begun(ParameterArena& arena, const Config& config, const Vocabulary& vocabulary,
                              const std::string& engine, const std::string& device) {
  draw_initial_weights(config.model, arena.parameters(), static_cast<std::uint64_t>(config.train.seed),
                       vocabulary.symbols(), arena.values.data());
  if (config.train.ema > 0) arena.averages = arena.values.copy();
  return make_engine(engine, {.model = config.model,
                              .vocab_size = vocabulary.size(),
                              .train = config.train,
                              .arena = arena,
                              .device = device});
}

}  // namespace

// ---- one step

Gradients make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                    const GradientInput& input, Communicator& ranks) {
  Gradients gradients = engine.gradients(input);
  if (!ranks.alone()) {
    engine.give_gradients();
    gradients = summed(ranks, arena, gradients);
    engine.take_gradients();
  }
  if (gradients.finite()) engine.update(update_context(train, gradients.norm, lr_factor));
  return gradients;
}

Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part) {
  ranks.sum(arena.gradients.all());
  const std::vector<double> losses = gathered(ranks, part.loss);
  return {.loss = std::accumulate(losses.begin(), losses.end(), 0.0), .norm = arena.gradient_norm()};
}

void SharedScorer::score(const WindowBatch& windows, std::span<float> losses) {
  if (ranks_.alone()) return own_.score(windows, losses);
  const Part part = part_of(windows.B(), ranks_.ranks(), ranks_.rank());
  std::vector<float> own(static_cast<std::size_t>(part.size * windows.T));
  if (part.size > 0) own_.score(windows.part(part.begin, part.size), own);
  std::ranges::copy(gathered<float>(ranks_, own), losses.begin());
}

// ---- Learner

Learner::Learner(const Config& config_in, const Corpus& corpus, Teachers& teachers, const std::string& device_in,
                 const std::string& engine_name, Communicator& ranks_in)
    : model(config_in.model),
      config(config_in.train),
      device(device_in),
      arena(parameter_list(model, corpus.vocabulary().size()), model.decay, config),
      batches(corpus.train(), model.block_size, config),
      engine(begun(arena, config_in, corpus.vocabulary(), engine_name, device)),
      ranks(ranks_in),
      scorer(*engine, ranks),
      teachers_(teachers) {}

Gradients Learner::make_step(std::int64_t step, double lr_factor, const Heartbeat& heartbeat) {
  const std::vector<std::int64_t> starts = batches.starts(step);
  std::vector<WindowBatch> parts = batches.micro_batches(starts);
  std::int64_t tokens = 0;
  for (const WindowBatch& part : parts) tokens += part.counted();
  const Part own = part_of(config.batch_size, ranks.ranks(), ranks.rank());
  for (WindowBatch& part : parts) part = part.part(own.begin, own.size);
  return chargpt::make_step(
      *engine, arena, config, lr_factor,
      {.step = step,
       .seed = static_cast<std::uint64_t>(config.seed),
       .micro_batches = parts,
       .soft = {.q = teachers_.predict(parts, heartbeat), .weight = static_cast<float>(config.teacher_weight)},
       .first_window = own.begin,
       .tokens = tokens,
       .heartbeat = heartbeat},
      ranks);
}

ParameterArena& Learner::current() {
  engine->give_back();
  return arena;
}

bool Learner::load(const Checkpoint& checkpoint) {
  const std::string source = checkpoint.path.string();
  read_weights(arena.parameters(), checkpoint.model, source, arena.values.data());
  arena.load_optimizer(checkpoint.optimizer, checkpoint.state.step, source);
  const bool lacks_averages = config.ema > 0 && checkpoint.averaged.empty();
  if (lacks_averages) arena.averages = arena.values.copy();
  if (config.ema > 0 && !lacks_averages)
    read_weights(arena.parameters(), checkpoint.averaged, source, arena.averages.data());
  engine->take_over();
  return !lacks_averages;
}

void Learner::start_from_weights() {
  if (config.ema > 0) arena.averages = arena.values.copy();
  engine->take_over();
}

}  // namespace chargpt
