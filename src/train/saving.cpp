#include "train/saving.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {

Saver::Saver(const ResolvedConfig& config, const Vocabulary& vocabulary, Learner& learner, const EventEmitter& emitter)
    : config_(config), vocabulary_(vocabulary), learner_(learner), emitter_(emitter) {}

void Saver::save_in(std::filesystem::path run) {
  run_ = std::move(run);
  folder_ = open_folder(run_);
}

void Saver::check() const {
  if (!run_.empty() && !is_at(run_, folder_))
    throw Error(ExitCode::io, "the folder ", run_,
                " was renamed or removed while it was in use, so nothing more is saved in it; if it was renamed, "
                "resume it under its new name");
}

void Saver::save(const RunState& state) {
  if (run_.empty()) return;
  const SavedCheckpoint saved = write(state);
  last_checkpoint = saved.path;
  emitter_.emit(CheckpointEvent{state.step, saved.path, state.best_step == state.step});
  if (!saved.problem.empty()) emitter_.notice(saved.problem);
}

/// Saves a checkpoint. Retries once, because disk errors can be transient.
SavedCheckpoint Saver::write(const RunState& state) {
  ParameterArena& arena = learner_.current();
  const std::vector<TensorView> weights = arena.weights_in(arena.values), moments = arena.optimizer_tensors(),
                                averaged = arena.weights_in(arena.averages);
  const auto try_once = [&] {
    check();
    return save_checkpoint(run_, {state, vocabulary_, config_, weights, moments, averaged}, config_.config.train.keep);
  };
  try {
    return try_once();
  } catch (const Error& failure) {
    if (failure.code() != ExitCode::io) throw;
    SavedCheckpoint saved = try_once();
    emitter_.notice(line_of(failure.what(), "; it was saved at the second attempt"));
    return saved;
  }
}

}  // namespace chargpt
