// The training loop: makes steps, evaluates, saves, emits events. Independent of model types; it never prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/events.h"
#include "run/checkpoint.h"
#include "text/corpus.h"
#include "train/communicator.h"
#include "train/divergence.h"
#include "train/emitter.h"
#include "train/evaluator.h"
#include "train/learner.h"
#include "train/saving.h"
#include "train/schedule.h"
#include "train/teachers.h"

namespace chargpt {

struct TrainerOptions {
  std::filesystem::path run;  ///< run folder, already made and locked; empty: see save_in()
  std::string device = "auto";
  std::string engine = "auto";
  std::int64_t threads = 0;
  /// Checked between the parts of all long work: once it is set, the current step or evaluation is dropped, and the run
  /// is saved and ends.
  const std::atomic<bool>* stop = nullptr;
  double process_started = 0;          ///< on the clock; `seconds` counts from it; 0: now
  std::string program_version;         ///< stored in checkpoints
  std::function<double()> clock = {};  ///< seconds; empty: the steady clock
  /// Shares of time (RunProgress::shares) of another run with the same options, to be replayed; empty: none.
  std::vector<float> replayed_shares = {};
  /// The run stops after this step, as by a signal.
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  /// For a resumed run: the teacher checkpoints that it used. Empty: the best of each teacher.
  std::vector<TeacherWeights> teachers = {};
  /// The ranks that train the run together; null: this process alone. It must outlive the trainer. All ranks have the
  /// same config, text and checkpoint; only rank 0 has a run folder and listeners.
  Communicator* ranks = nullptr;
};

class Trainer {
 public:
  /// Starts a new run with weights from (config, seed). Errors: usage for options that contradict each other, data for
  /// a text that is too short, unavailable for a missing device, memory if a step does not fit.
  Trainer(ResolvedConfig config, Corpus corpus, const TrainerOptions& options);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Error usage if a teacher belongs to this run.
  void refuse_teachers_in(const std::filesystem::path& run) const { teachers_.refuse_own(run); }
  /// Sets the run folder, already made and locked; without one, nothing is written.
  void save_in(const std::filesystem::path& run) { saver_.save_in(run); }
  /// Continues from a checkpoint (weights, moments, step, best) of the same text. Changed options, and differences that
  /// break bit-exactness, become notices. Errors: data.
  void resume_from(const Checkpoint& checkpoint);
  /// Takes only the weights from another run. Rows of embedding and head are matched by symbol; new symbols keep their
  /// initial rows.
  void init_from(const Checkpoint& checkpoint);

  void add_listener(std::shared_ptr<Listener> listener) { emitter_.add_listener(std::move(listener)); }

  /// The plan: sizes, epochs, disk space; under train.max_seconds, it estimates steps and epochs by scoring a few
  /// windows. `measure`: also seconds and memory, from trial steps of a new run that are not undone, so the
  /// trainer cannot train afterwards. Throws Interrupted if a stop is requested while it measures.
  PlanEvent plan(bool measure);
  /// Trains until max_iters, patience, max_seconds or stop; emits the plan first, unless stopped while it measures, and
  /// the end last. Evaluates at step 0, every eval_interval and at the end; saves after each evaluation but that of
  /// step 0, and ten minutes after the last save. A stop saves without evaluating; a resumed run repeats the dropped
  /// work with the same bits. Makes at least one step, however short max_seconds. A failed save is a notice, at the end
  /// an Error. Error diverged, naming the last good checkpoint, if a loss or gradient is not finite; weights that are
  /// not finite are never saved.
  Ending run();
  /// Makes one step without evaluating or saving. Error diverged as run().
  StepEvent step();

  const RunState& state() const { return state_; }
  /// Why validation losses may be too low, because of a teacher or of init_from(); "" if nothing suggests it.
  const std::string& caution() const { return caution_; }
  /// Losses of the validation split's tokens by the best checkpoint, equal to those from scoring its file. Empty unless
  /// this process has scored the whole split on a CPU.
  const std::vector<float>& best_losses() const { return best_losses_; }
  /// Loss on windows of the train split at this process's last evaluation; NaN before it.
  double train_loss() const { return train_loss_; }
  /// Why the run ends now; nullopt if another step should follow.
  std::optional<Ending> reason_to_end() const;
  /// The event for the end of run().
  EndEvent ended() const;
  /// Seconds since the process started, plus those of earlier processes of the run.
  double seconds() const { return clock_.seconds(); }
  /// The config as the user asked for it.
  const ResolvedConfig& config() const { return config_; }
  const Corpus& corpus() const { return corpus_; }
  Engine& engine() { return *learner_.engine; }
  /// The arena, brought up to date with the engine.
  ParameterArena& arena() { return learner_.current(); }

 private:
  const Config& settings() const { return config_.config; }
  bool stopped() const { return ranks_.alone() ? emitter_.stopped() : stop_agreed_; }
  /// Whether the current weights have been evaluated.
  bool evaluated() const { return evaluated_loss(state_) < std::numeric_limits<double>::infinity(); }
  void begin_patience_anew();
  void choose_windows();
  std::int64_t windows_now() const;

  double seconds_per_window();
  std::int64_t estimated_steps();
  std::optional<double> measured_seconds(std::int64_t steps);
  void check_same_start();

  StepEvent make_step();
  void evaluate();
  void evaluate_and_save();
  void save_on_the_way(double soonest = 600);
  void save();
  [[noreturn]] void diverge(const std::string& what);

  // Each member may use those before it.
  Communicator alone_;
  Communicator& ranks_;
  const std::int64_t threads_;
  const std::string device_;
  const Corpus corpus_;
  std::string caution_;
  Teachers teachers_;
  const ResolvedConfig config_;
  RunClock clock_;
  RunState state_;
  Schedule schedule_;
  const std::atomic<bool>* stop_;
  std::int64_t last_step_;
  EventEmitter emitter_;
  Learner learner_;
  Evaluator evaluator_;
  Saver saver_;
  std::vector<std::string> notices_;  ///< shown with the plan
  double train_loss_ = std::numeric_limits<double>::quiet_NaN();
  bool stop_agreed_ = false;  ///< by all ranks
  bool inherited_ = false;    ///< started from the weights of another run
  std::vector<float> best_losses_;
  double saving_seconds_ = 0;       ///< duration of the last save
  double saved_at_ = 0;             ///< when the last save began, in seconds of the run
  std::optional<Ending> saved_as_;  ///< as what this state is saved; nullopt: it has changed since
};

}  // namespace chargpt
