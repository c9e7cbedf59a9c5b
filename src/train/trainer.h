// The loop: repeats steps, evaluates, saves, emits events. Knows no model by name and never prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
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
  /// Checked between the parts of everything that takes long: once it is set, the step or evaluation under way is
  /// dropped whole, and the run saved and ended.
  const std::atomic<bool>* stop = nullptr;
  double process_started = 0;          ///< seconds on the clock, for `seconds` from process start; 0: now
  std::string program_version;         ///< kept in checkpoints
  std::function<double()> clock = {};  ///< seconds; empty: the steady clock
  /// Shares of max_seconds (RunProgress::shares) of another run with the same options, to be replayed; empty: none.
  std::vector<float> replayed_shares = {};
  /// Of a resumed run: the teacher checkpoints that it used. Empty: each teacher's best.
  std::vector<TeacherWeights> teachers = {};
  /// The processes that train the run together; null: this one alone. All have the same config, text and checkpoint;
  /// rank 0 alone has a run folder and listeners. It must outlive the trainer.
  Communicator* ranks = nullptr;
};

class Trainer {
 public:
  /// A new run: weights from (config, seed). Errors: usage for options that do not fit together, data for a text too
  /// short, unavailable for the device, memory if a step does not fit.
  Trainer(ResolvedConfig config, Corpus corpus, const TrainerOptions& options);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Error usage if a teacher belongs to this run.
  void refuse_teachers_in(const std::filesystem::path& run) const { teachers_.refuse_own(run); }
  /// The run folder, made and locked; without one nothing is written.
  void save_in(const std::filesystem::path& run) { saver_.save_in(run); }
  /// Goes on from a checkpoint (weights, moments, step, best). Differences that break bit-exactness become notices, as
  /// do changed options. The text is the checkpoint's.
  void resume_from(const Checkpoint& checkpoint);
  /// Weights only, from another run; rows of embedding and head are matched by symbol, new symbols keep their fresh
  /// rows.
  void init_from(const Checkpoint& checkpoint);

  void add_listener(std::shared_ptr<Listener> listener) { emitter_.add_listener(std::move(listener)); }

  /// Sizes, epochs, disk; under train.max_seconds steps and epochs are estimated from a few windows scored. `measure`:
  /// seconds and memory too, from steps that are made and not undone: the trainer is of no use for a training then.
  PlanEvent plan(bool measure);
  /// Until max_iters, patience, max_seconds or stop. Emits the plan, evaluates at step 0, evaluates and saves every
  /// eval_interval and at the end, and saves ten minutes after the last save; a stop saves without evaluating, and what
  /// it has dropped is done again, to the same bits, when the run goes on. At least one step is taken, however few the
  /// seconds. A save that fails on the way is a notice, at the end an Error. Error diverged, naming the last good
  /// checkpoint, if loss or gradient is not finite; weights that are not finite are never saved. Emits why it ended.
  Ending run();
  /// One step; nothing is evaluated or saved. Error diverged as run().
  StepEvent step();

  const RunState& state() const { return state_; }
  /// Of teachers, or set by init_from(): why validation losses may be too low. Empty: nothing suggests it.
  const std::string& caution() const { return caution_; }
  /// Losses of the validation split by the best checkpoint, as scoring its file gives them; empty unless this process
  /// has scored the whole split on a CPU.
  const std::vector<float>& best_losses() const { return best_losses_; }
  /// Why no further step would be made; none if one would.
  std::optional<Ending> reason_to_end() const;
  /// Why run() ended.
  EndEvent ended() const;
  /// Since process start, over all processes.
  double seconds() const { return clock_.seconds(); }
  /// As it was asked for.
  const ResolvedConfig& config() const { return config_; }
  const Corpus& corpus() const { return corpus_; }
  Engine& engine() { return *learner_.engine; }
  /// With what the engine has made of it.
  ParameterArena& arena() { return learner_.current(); }

 private:
  const Config& settings() const { return config_.config; }
  bool stopped() const { return ranks_.alone() ? emitter_.stopped() : stop_agreed_; }
  void begin_patience_anew();
  void choose_windows();
  std::int64_t windows_now() const;

  double seconds_per_window();
  std::int64_t estimated_steps();
  std::optional<double> measured_seconds(std::int64_t steps);
  void check_same_start();
  void announce();

  Ending run_to_end();
  StepEvent make_step();
  void evaluate();
  void evaluate_and_save();
  void save_on_the_way(double soonest = 600);
  void save();

  // In the order in which they need each other.
  OneProcess alone_;
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
  EventEmitter emitter_;
  Learner learner_;
  Evaluator evaluator_;
  Saver saver_;
  DivergenceCheck divergence_;
  std::vector<std::string> notices_;  ///< for the plan
  std::optional<PlanEvent> planned_;
  std::int64_t evaluated_step_ = RunProgress::no_step;
  bool stop_agreed_ = false;  ///< of several ranks
  bool inherited_ = false;    ///< weights of another run
  std::vector<float> best_losses_;
  double saving_seconds_ = 0;  ///< of the last save
  double saved_at_ = 0;        ///< seconds of the run
  Ending saved_as_ = Ending::unknown;
};

}  // namespace chargpt
