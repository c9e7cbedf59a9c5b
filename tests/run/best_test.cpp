// The best checkpoint is what the newest state says, whatever became of the file BEST and of the folders.
#include <sys/stat.h>

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

TEST_CASE_METHOD(ThreeSaved, "where the best is loaded nothing is said of a LATEST that names no checkpoint") {
  write(checkpoints() / "LATEST", "step-00000900\n");
  CHECK(best_step() == 200);
  CHECK(notices.empty());
  CHECK(load("last").state.step == 300);
  CHECK(notices.size() == 1);
}

TEST_CASE_METHOD(ThreeSaved, "the best is never pruned, whatever BEST says") {
  write(checkpoints() / "BEST", "step-00000100\n");
  save_with_loss(400, 3, 1);
  CHECK(names() == Names{"step-00000200", "step-00000400"});
  CHECK(best_step() == 200);
}

TEST_CASE_METHOD(ScoredRun, "a best whose state cannot be read is not pruned, and the last stands in for it") {
  save_with_loss(50, 2.125);
  save_three();
  fs::resize_file(step(200) / "state.json", 10);
  save_with_loss(400, 3, 9);
  CHECK(pointer("BEST") == "step-00000200\n");
  CHECK(best_step() == 400);
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].starts_with("DAMAGED CHECKPOINT: step-00000200 cannot be used ("));
  CHECK(notices[0].ends_with("; using step-00000400 instead"));
  save_with_loss(500, 3, 1);
  CHECK(names() == Names{"step-00000200", "step-00000500"});
}

TEST_CASE_METHOD(ThreeSaved, "a step that another training wrote since is not the best") {
  RunState other = load("step-100").state;  // goes on from 100 at a higher rate, to the worse
  other.step = 200;
  other.val_loss = 14.5;
  save_state(other, 9);
  CHECK(pointer("LATEST") == "step-00000200\n");
  CHECK(pointer("BEST") == "step-00000100\n");
  CHECK(best_step() == 100);
  CHECK(notices.empty());
}

TEST_CASE_METHOD(ThreeSaved, "where the best is gone or was replaced, the last stands in, and that is said") {
  SECTION("gone") {
    fs::remove_all(step(200));
    CHECK(best_step() == 300);
    CHECK(notices == Names{"the best checkpoint of " + checkpoints().string() +
                           ", step-00000200 with a validation loss of 2.0000, is not there; using the last"});
  }
  SECTION("replaced, as a program could that kept no branches apart") {
    const RunState newest = load("step-300").state;
    RunState other = load("step-200").state;
    other.val_loss = 14.5;
    other.best_step = 100;
    other.best_val_loss = 2.5;
    save_state(other, 9);
    save_state(newest, 9);
    CHECK(best_step() == 300);
    REQUIRE(notices.size() == 1);
    CHECK(notices[0].find("was replaced by one of another training, with 14.5000; using the last") !=
          std::string::npos);
  }
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

TEST_CASE_METHOD(ThreeSaved, "a damaged last's state is still believed; where it has none, an earlier one's is") {
  save_with_loss(400, 1.5);
  save_with_loss(500, 1.75);
  fs::resize_file(step(500) / "model.safetensors", 10);
  CHECK(best_step() == 400);
  fs::remove(step(500) / "state.json");
  fs::remove(step(400) / "state.json");
  CHECK(best_step() == 200);
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

TEST_CASE_METHOD(BestBlocked, "a BEST that cannot be removed where there is no best is a problem of that file alone") {
  state.best_step = RunState::no_step;
  state.val_loss = state.best_val_loss = std::numeric_limits<double>::infinity();
  const SavedCheckpoint saved = save_state(state, 1);
  CHECK(saved.problem.starts_with("the file BEST is out of date: there is no best checkpoint (cannot remove "));
}

TEST_CASE_METHOD(ScoredRun, "a LATEST that cannot be written leaves the run where it stood, and says what is there") {
  save_with_loss(100, 2.5);
  fs::remove(checkpoints() / "LATEST");
  fs::create_directories(checkpoints() / "LATEST" / "in the way");
  CHECK_THAT(message_of(ExitCode::io, [&] { save_with_loss(200, 2.0); }),
             Catch::StartsWith("step-00000200 is there, but LATEST does not name it, so the run stays at the one "
                               "before: cannot replace "));
}

TEST_CASE("a pipe in place of a checkpoint's file is damage, and nothing is waited for") {
  for (const char* name :
       {"MANIFEST.json", "state.json", "config.json", "vocab.json", "model.safetensors", "optimizer.safetensors"}) {
    ThreeSaved run;
    fs::remove(run.step(300) / name);
    REQUIRE(::mkfifo((run.step(300) / name).c_str(), 0600) == 0);
    CHECK(run.load("last").state.step == 200);
    REQUIRE(run.notices.size() == 1);
    CHECK(run.notices[0].find(std::string(name) + " is a pipe, and should be a regular file") != std::string::npos);
    CHECK(error_of([&] { run.load("step-300"); }).code == ExitCode::data);
    CHECK_FALSE(verify_checkpoint(run.step(300)).empty());
  }
}

TEST_CASE_METHOD(ScoredRun, "a checkpoint is named with what is better or later") {
  save_with_loss(1000, 2.5);
  CHECK(said("best") == "step 1,000, the best and the last");
  save_with_loss(2000, 2.0);
  save_with_loss(3000, 2.25);
  CHECK(said("best") == "step 2,000, the best; the last is step 3,000");
  CHECK(said("last") == "step 3,000, the last; the best is step 2,000");
  CHECK(said("step-1000") == "step 1,000; the last is step 3,000; the best is step 2,000");
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
