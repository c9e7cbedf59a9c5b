#include "train/learner.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/part.h"
#include "network/initial_weights.h"

namespace chargpt {
namespace {

std::vector<std::string> symbols_of(const Vocabulary& vocabulary) {
  std::vector<std::string> symbols;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) symbols.push_back(vocabulary.symbol(id));
  return symbols;
}

/// Draws the initial weights before the engine reads them.
std::unique_ptr<Engine> begun(ParameterArena& arena, const Config& config, const Vocabulary& vocabulary,
                              const std::string& engine, const std::string& device) {
  draw_initial_weights(config.model, arena.parameters(), static_cast<std::uint64_t>(config.train.seed),
                       symbols_of(vocabulary), arena.values.data());
  if (config.train.ema > 0) start_averages(arena);
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

Learner::Learner(const Config& config_in, const Corpus& corpus, const std::string& device_in,
                 const std::string& engine_name, Communicator& ranks_in)
    : model(config_in.model),
      config(config_in.train),
      device(device_in),
      arena(parameter_list(model, corpus.vocabulary().size()), model.decay, config),
      batches(corpus.train(), model.block_size, config),
      engine(begun(arena, config_in, corpus.vocabulary(), engine_name, device)),
      ranks(ranks_in),
      scorer(*engine, ranks),
      vocab_size_(corpus.vocabulary().size()) {}

SoftTargets Learner::soft_targets(std::span<const WindowBatch> micro_batches, const Heartbeat& heartbeat) {
  if (!teachers_) return {};
  std::int64_t places = 0;
  for (const WindowBatch& windows : micro_batches) places += windows.numel();
  q_.resize(static_cast<std::size_t>(places * vocab_size_));
  std::span<float> left = q_;
  for (const WindowBatch& windows : micro_batches) {
    if (heartbeat) heartbeat(0);
    const auto numel = static_cast<std::size_t>(windows.numel() * vocab_size_);
    teachers_(windows, left.first(numel));
    left = left.subspan(numel);
  }
  return {.q = q_, .weight = static_cast<float>(config.teacher_weight)};
}

Gradients Learner::make_step(std::int64_t step, double lr_factor, const Heartbeat& heartbeat) {
  const std::vector<std::int64_t> starts = batches.starts(step);
  std::vector<WindowBatch> parts = batches.micro_batches(starts);
  std::int64_t tokens = 0;
  for (const WindowBatch& part : parts) tokens += part.counted();
  const Part own = part_of(config.batch_size, ranks.ranks(), ranks.rank());
  for (WindowBatch& part : parts) part = part.part(own.begin, own.size);
  return chargpt::make_step(*engine, arena, config, lr_factor,
                            {.step = step,
                             .seed = static_cast<std::uint64_t>(config.seed),
                             .micro_batches = parts,
                             .soft = soft_targets(parts, heartbeat),
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
  if (lacks_averages) start_averages(arena);
  if (config.ema > 0 && !lacks_averages)
    read_weights(arena.parameters(), checkpoint.averaged, source, arena.averages.data());
  engine->take_over();
  return !lacks_averages;
}

void Learner::start_from_weights() {
  if (config.ema > 0) start_averages(arena);
  engine->take_over();
}

}  // namespace chargpt
