// The best checkpoint is what the newest state says, whatever became of the file BEST and of the folders.
#include "failure.h"
#include "run/checkpoint_folder.h"
#include "saved_run.h"

using namespace chargpt;

namespace {

struct ScoredRun : SavedRun {
  std::string pointer(const char* name) const { return read_file(checkpoints() / name); }
  std::int64_t best_step() { return load("best").state.step; }
  /// What is said of a checkpoint beside the others of its run.
  std::string said(const std::string& which) { return to_text(standing_of(load(which))); }
  /// Saved at 100, 200 and 300, and best at 200; each is kept.
  void save_three() {
    save_with_loss(100, 2.5);
    save_with_loss(200, 2.0);
    save_with_loss(300, 2.25);
  }
};

struct ThreeSaved : ScoredRun {
  ThreeSaved() { save_three(); }
};

/// Saved at 100, with a folder in the place of BEST.
struct BestBlocked : ScoredRun {
  BestBlocked() {
    save_with_loss(100, 2.5);
    fs::remove(checkpoints() / "BEST");
    fs::create_directories(checkpoints() / "BEST" / "in the way");
    state = load().state;
  }
  RunState state;
};

}  // namespace

TEST_CASE("a checkpoint's loss is the lower of its two, where it is a number") {
  RunState state;
  CHECK(std::isinf(evaluated_loss(state)));
  state.val_loss = std::nan("");
  CHECK(std::isinf(evaluated_loss(state)));
  state.averaged_val_loss = 1.5;
  CHECK(evaluated_loss(state) == 1.5);
  state.val_loss = 1.25;
  CHECK(evaluated_loss(state) == 1.25);
}

TEST_CASE_METHOD(ThreeSaved, "whatever BEST says, the newest state names the best, and the next save repairs BEST") {
  CHECK(pointer("BEST") == "step-00000200\n");
  for (const std::string text : {"step-00000100\n", "step-00000300\n", "step-00000900\n", "", "../../etc\n"}) {
    write(checkpoints() / "BEST", text);
    CHECK(best_step() == 200);
    CHECK(notices.empty());
    CHECK(pointer("BEST") == text);  // who reads writes nothing
  }
  fs::remove(checkpoints() / "BEST");
  CHECK(best_step() == 200);
  save_with_loss(400, 2.5);
  CHECK(pointer("BEST") == "step-00000200\n");
}

TEST_CASE_METHOD(ThreeSaved, "a best that is gone is named, and the last is used") {
  fs::remove_all(step(200));
  CHECK(best_step() == 300);
  CHECK(notices == Names{"the best checkpoint of " + checkpoints().string() +
                         ", step-00000200 with a validation loss of 2.0000, is not there; using the last"});
  CHECK(pointer("LATEST") == "step-00000300\n");
}

TEST_CASE_METHOD(ThreeSaved, "a run that goes on from an earlier step stands there at once") {
  CHECK(go_on_from(path(), load("step-100").state).empty());
  CHECK(pointer("LATEST") == "step-00000100\n");
  CHECK(pointer("BEST") == "step-00000100\n");
  CHECK(load("last").state.step == 100);
  CHECK(best_step() == 100);
  CHECK(names().size() == 3);  // what it does again is replaced as it comes
}

TEST_CASE_METHOD(ScoredRun, "a run that is not evaluated yet has no best") {
  save_state(state_of(0), 9);
  save_state(state_of(50), 9);
  CHECK_FALSE(fs::exists(checkpoints() / "BEST"));
  CHECK(best_step() == 50);
  CHECK(notices == Names{"no best checkpoint in " + checkpoints().string() + "; using the last"});
  write(checkpoints() / "BEST", "step-00000900\n");
  save_state(state_of(60), 9);
  CHECK_FALSE(fs::exists(checkpoints() / "BEST"));
}

TEST_CASE_METHOD(BestBlocked, "a BEST that cannot be written is a problem of that file alone") {
  state.step = 200;
  const SavedCheckpoint saved = save_state(state, 1);
  CHECK(saved.path == step(200));
  CHECK(saved.problem.starts_with("the file BEST does not name step-00000100, the best checkpoint (cannot replace "));
  CHECK(saved.problem.ends_with("); chargpt does not need the file, and repairs it with the next checkpoint"));
  CHECK(pointer("LATEST") == "step-00000200\n");
  CHECK(best_step() == 100);
}

TEST_CASE_METHOD(ScoredRun, "a LATEST that cannot be written leaves the run where it stood, and says what is there") {
  save_with_loss(100, 2.5);
  fs::remove(checkpoints() / "LATEST");
  fs::create_directories(checkpoints() / "LATEST" / "in the way");
  CHECK_THAT(message_of(ExitCode::io, [&] { save_with_loss(200, 2.0); }),
             Catch::StartsWith("step-00000200 is there, but LATEST does not name it, so the run stays at the one "
                               "before: cannot replace "));
}

TEST_CASE_METHOD(ScoredRun, "weights that were never evaluated are said to be so") {
  save(500, /*best=*/false, /*keep=*/9);
  CHECK(said("last") == "step 500, the last (not evaluated)");
  save_with_loss(1000, 2.5);
  save(1234, /*best=*/false, /*keep=*/9);
  CHECK(said("best") == "step 1,000, the best; the last is step 1,234 (not evaluated)");
  CHECK(said("last") == "step 1,234, the last (not evaluated); the best is step 1,000");
  save_with_loss(2000, std::nan(""));  // a loss that is no number was measured too
  CHECK(said("last") == "step 2,000, the last; the best is step 1,000");
}

TEST_CASE_METHOD(ScoredRun, "of a checkpoint outside a run only its step is known") {
  save_with_loss(1000, 2.5);
  const TestFolder folder;
  fs::copy(step(1000), folder / "copy", fs::copy_options::recursive);
  const Checkpoint copy = load_checkpoint(folder / "copy", "last");
  CHECK(to_text(standing_of(copy)) == "step 1,000");
}
