// A run folder with small checkpoints in it.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "config/describe.h"
#include "report/format.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "test_folder.h"

namespace chargpt {

/// Writes a file, and the folders it lies in.
inline void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  write_file_atomically(path, text);
}

/// The state of a run at some step, every field set.
inline RunState state_of(std::int64_t step) {
  RunState state;
  state.step = step;
  state.max_iters = 1000;
  state.seconds = 1.0 / 3;
  state.best_step = RunState::no_step;
  state.evals_without_improvement = 2;
  state.data = {1000, 0xFEDCBA9876543210};
  state.parameters = 3;
  state.start_symbol = 1;
  state.program_version = "0.1.0";
  state.libtorch_version = "2.13.0";
  state.cpu_capability = "AVX2";
  state.device = "cpu";
  state.engine = "libtorch";
  state.threads = 2;
  return state;
}

class SavedRun {
 public:
  explicit SavedRun(const std::string& name = "run") : path_(folder_ / name) {
    std::filesystem::create_directory(path_);
    write_file_atomically(path_ / "config.json", json_text(to_json(config_)));
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path step(std::int64_t step) const {
    const std::string digits = std::to_string(step);
    return checkpoints() / ("step-" + std::string(8 - digits.size(), '0') + digits + ".safetensors");
  }

  /// Weights are the step's number, so that checkpoints differ. The best so far where `best`, otherwise not evaluated.
  std::filesystem::path save(std::int64_t step, bool best = false, std::int64_t keep = 1) {
    RunState state = state_of(step);
    if (best) {
      best_step_ = step;
      best_val_loss_ = std::min(best_val_loss_, 2.0) - 0.125;
      state.val_loss = best_val_loss_;
    }
    state.best_step = best_step_;
    state.best_val_loss = best_val_loss_;
    return save_state(state, keep).path;
  }
  /// None of them evaluated, and all kept.
  void save_each(std::initializer_list<std::int64_t> steps) {
    for (const std::int64_t number : steps) save(number, false, 9);
  }
  /// Evaluated with this loss; best by the losses that were given so far.
  std::filesystem::path save_with_loss(std::int64_t step, double loss, std::int64_t keep = 9) {
    if (loss < best_val_loss_) {
      best_val_loss_ = loss;
      best_step_ = step;
    }
    RunState state = state_of(step);
    state.val_loss = loss;
    state.best_step = best_step_;
    state.best_val_loss = best_val_loss_;
    return save_state(state, keep).path;
  }
  SavedCheckpoint save_state(const RunState& state, std::int64_t keep) const {
    const std::int64_t step = state.step;
    const std::vector<float> weights(3, static_cast<float>(step)), moments(6, 0.5F);
    const std::vector<TensorView> model = {{"w", "F32", {3}, std::as_bytes(std::span(weights))}};
    const std::vector<TensorView> optimizer = {{"m", "F32", {2, 3}, std::as_bytes(std::span(moments))}};
    const std::vector<TensorView> averaged = {{"w", "F32", {3}, std::as_bytes(std::span(moments).first(3))}};
    return save_checkpoint(path_,
                           {state, vocabulary_, config_, model, optimizer,
                            averages_weights ? std::span(averaged) : std::span<const TensorView>()},
                           keep);
  }
  Checkpoint load(const std::string& which = "last") {
    Checkpoint checkpoint = load_checkpoint(path_, which, true);
    notices = checkpoint.notices;
    return checkpoint;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& path : list_checkpoints(path_)) names.push_back(path.stem().string());
    return names;
  }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const ResolvedConfig& config() const { return config_; }

  std::vector<std::string> notices;
  bool averages_weights = false;  ///< what is saved has averaged weights too

 private:
  TestFolder folder_;
  std::filesystem::path path_;
  std::int64_t best_step_ = RunState::no_step;
  double best_val_loss_ = std::numeric_limits<double>::infinity();
  Vocabulary vocabulary_ = Vocabulary::of_characters({U'\n', U'a', U'é', U'☺'});
  ResolvedConfig config_ =
      parse_config(R"({"name":"mine","train":{"learning_rate":0.003,"teacher":["runs/big"]}})", "mine.json", ".");
};

}  // namespace chargpt
