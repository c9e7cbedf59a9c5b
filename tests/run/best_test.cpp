// The best checkpoint is what the newest state says, whatever became of the file BEST and of the folders.
#include "run/best.h"

#include <sys/stat.h>

#include <cmath>

#include "base/files.h"
#include "failure.h"
#include "run/checkpoints.h"
#include "saved_run.h"
#include "test.h"

using namespace chargpt;
namespace fs = std::filesystem;

using Names = std::vector<std::string>;

namespace {

std::string pointer(const SavedRun& run, const char* name) {
  return read_file(run.checkpoints() / name);
}

/// Saved at 100, 200 and 300, and best at 200; each is kept.
void save_three(SavedRun& run) {
  run.save_with_loss(100, 2.5);
  run.save_with_loss(200, 2.0);
  run.save_with_loss(300, 2.25);
}

/// Saved at 100, with a folder in the place of BEST; the state that was saved.
RunState save_and_block_best(SavedRun& run) {
  run.save_with_loss(100, 2.5);
  fs::remove(run.checkpoints() / "BEST");
  fs::create_directories(run.checkpoints() / "BEST" / "in the way");
  return run.load().state;
}

std::int64_t best_step(SavedRun& run) {
  return run.load("best").state.step;
}

/// What is said of a checkpoint beside the others of its run.
std::string said(SavedRun& run, const std::string& which) {
  return to_text(standing_of(run.load(which)));
}

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

TEST_CASE("whatever BEST says, the best is the one that the newest state names, and the next save repairs BEST") {
  SavedRun run;
  save_three(run);
  CHECK(pointer(run, "BEST") == "step-00000200\n");
  for (const std::string text : {"step-00000100\n", "step-00000300\n", "step-00000900\n", "", "../../etc\n"}) {
    write(run.checkpoints() / "BEST", text);
    CHECK(best_step(run) == 200);
    CHECK(run.notices.empty());
    CHECK(pointer(run, "BEST") == text);  // who reads writes nothing
  }
  fs::remove(run.checkpoints() / "BEST");
  CHECK(best_step(run) == 200);
  run.save_with_loss(400, 2.5);
  CHECK(pointer(run, "BEST") == "step-00000200\n");
}

TEST_CASE("the best is never pruned, whatever BEST says") {
  SavedRun run;
  save_three(run);
  write(run.checkpoints() / "BEST", "step-00000100\n");
  run.save_with_loss(400, 3, 1);
  CHECK(run.names() == Names{"step-00000200", "step-00000400"});
  CHECK(best_step(run) == 200);
}

TEST_CASE("a best whose state cannot be read is not pruned, and gives way to the last when it is asked for") {
  SavedRun run;
  run.save_with_loss(50, 2.125);
  save_three(run);
  fs::resize_file(run.step(200) / "state.json", 10);
  run.save_with_loss(400, 3, 9);
  CHECK(pointer(run, "BEST") == "step-00000200\n");
  CHECK(best_step(run) == 400);
  REQUIRE(run.notices.size() == 1);
  CHECK(run.notices[0].starts_with("DAMAGED CHECKPOINT: step-00000200 cannot be used ("));
  CHECK(run.notices[0].ends_with("; using step-00000400 instead"));
  run.save_with_loss(500, 3, 1);
  CHECK(run.names() == Names{"step-00000200", "step-00000500"});
}

TEST_CASE("a step that another training wrote since is not the best") {
  SavedRun run;
  save_three(run);
  RunState other = run.load("step-100").state;  // goes on from 100 at a higher rate, to the worse
  other.step = 200;
  other.val_loss = 14.5;
  run.save_state(other, 9);
  CHECK(pointer(run, "LATEST") == "step-00000200\n");
  CHECK(pointer(run, "BEST") == "step-00000100\n");
  CHECK(best_step(run) == 100);
  CHECK(run.notices.empty());
}

TEST_CASE("where the best is gone or was replaced, the last stands in, and that is said") {
  SavedRun run;
  save_three(run);
  SECTION("gone") {
    fs::remove_all(run.step(200));
    CHECK(best_step(run) == 300);
    CHECK(run.notices == Names{"the best checkpoint of " + run.checkpoints().string() +
                               ", step-00000200 with a validation loss of 2.0000, is not there; using the last"});
  }
  SECTION("replaced, as a program could that kept no branches apart") {
    const RunState newest = run.load("step-300").state;
    RunState other = run.load("step-200").state;
    other.val_loss = 14.5;
    other.best_step = 100;
    other.best_val_loss = 2.5;
    run.save_state(other, 9);
    run.save_state(newest, 9);
    CHECK(best_step(run) == 300);
    REQUIRE(run.notices.size() == 1);
    CHECK(run.notices[0].find("was replaced by one of another training, with 14.5000; using the last") !=
          std::string::npos);
  }
  CHECK(pointer(run, "LATEST") == "step-00000300\n");
}

TEST_CASE("a run that goes on from an earlier step stands there at once") {
  SavedRun run;
  save_three(run);
  CHECK(go_on_from(run.path(), run.load("step-100").state).empty());
  CHECK(pointer(run, "LATEST") == "step-00000100\n");
  CHECK(pointer(run, "BEST") == "step-00000100\n");
  CHECK(run.load("last").state.step == 100);
  CHECK(best_step(run) == 100);
  CHECK(run.names().size() == 3);  // what it does again is replaced as it comes
}

TEST_CASE("a run that is not evaluated yet has no best") {
  SavedRun run;
  run.save_state(state_of(0), 9);
  run.save_state(state_of(50), 9);
  CHECK_FALSE(fs::exists(run.checkpoints() / "BEST"));
  CHECK(best_step(run) == 50);
  CHECK(run.notices == Names{"no best checkpoint in " + run.checkpoints().string() + "; using the last"});
  write(run.checkpoints() / "BEST", "step-00000900\n");
  run.save_state(state_of(60), 9);
  CHECK_FALSE(fs::exists(run.checkpoints() / "BEST"));
}

TEST_CASE("of a damaged last the state is still believed; of one without a state an earlier one's is") {
  SavedRun run;
  save_three(run);
  run.save_with_loss(400, 1.5);
  run.save_with_loss(500, 1.75);
  fs::resize_file(run.step(500) / "model.safetensors", 10);
  CHECK(best_step(run) == 400);
  fs::remove(run.step(500) / "state.json");
  fs::remove(run.step(400) / "state.json");
  CHECK(best_step(run) == 200);
}

TEST_CASE("a BEST that cannot be written is a problem of that file alone") {
  SavedRun run;
  RunState state = save_and_block_best(run);
  state.step = 200;
  const SavedCheckpoint saved = run.save_state(state, 1);
  CHECK(saved.path == run.step(200));
  CHECK(saved.problem.starts_with("the file BEST does not name step-00000100, the best checkpoint (cannot replace "));
  CHECK(saved.problem.ends_with("); chargpt does not need the file, and repairs it with the next checkpoint"));
  CHECK(pointer(run, "LATEST") == "step-00000200\n");
  CHECK(best_step(run) == 100);
}

TEST_CASE("a BEST that cannot be removed, where there is no best checkpoint, is a problem of that file alone") {
  SavedRun run;
  RunState state = save_and_block_best(run);
  state.best_step = RunState::no_step;
  state.val_loss = state.best_val_loss = std::numeric_limits<double>::infinity();
  const SavedCheckpoint saved = run.save_state(state, 1);
  CHECK(saved.problem.starts_with("the file BEST is out of date: there is no best checkpoint (cannot remove "));
}

TEST_CASE("a LATEST that cannot be written leaves the run where it stood, and says what is there") {
  SavedRun run;
  run.save_with_loss(100, 2.5);
  fs::remove(run.checkpoints() / "LATEST");
  fs::create_directories(run.checkpoints() / "LATEST" / "in the way");
  CHECK_THAT(message_of(ExitCode::io, [&] { run.save_with_loss(200, 2.0); }),
             Catch::StartsWith("step-00000200 is there, but LATEST does not name it, so the run stays at the one "
                               "before: cannot replace "));
}

TEST_CASE("a pipe in place of a checkpoint's file is damage, and nothing is waited for") {
  for (const char* name :
       {"MANIFEST.json", "state.json", "config.json", "vocab.json", "model.safetensors", "optimizer.safetensors"}) {
    SavedRun run;
    save_three(run);
    fs::remove(run.step(300) / name);
    REQUIRE(::mkfifo((run.step(300) / name).c_str(), 0600) == 0);
    CHECK(run.load("last").state.step == 200);
    REQUIRE(run.notices.size() == 1);
    CHECK(run.notices[0].find(std::string(name) + " is a pipe, and should be a regular file") != std::string::npos);
    CHECK(failure_of([&] { run.load("step-300"); }).code() == ExitCode::data);
    CHECK_FALSE(verify_checkpoint(run.step(300)).empty());
  }
}

TEST_CASE("a checkpoint is named with what is better or later") {
  SavedRun run;
  run.save_with_loss(1000, 2.5);
  CHECK(said(run, "best") == "step 1,000, the best and the last");
  run.save_with_loss(2000, 2.0);
  run.save_with_loss(3000, 2.25);
  CHECK(said(run, "best") == "step 2,000, the best; the last is step 3,000");
  CHECK(said(run, "last") == "step 3,000, the last; the best is step 2,000");
  CHECK(said(run, "step-1000") == "step 1,000; the last is step 3,000; the best is step 2,000");
}

TEST_CASE("weights that were never evaluated are said to be so") {
  SavedRun run;
  run.save(500, /*best=*/false, /*keep=*/9);
  CHECK(said(run, "last") == "step 500, the last (not evaluated)");
  run.save_with_loss(1000, 2.5);
  run.save(1234, /*best=*/false, /*keep=*/9);
  CHECK(said(run, "best") == "step 1,000, the best; the last is step 1,234 (not evaluated)");
  CHECK(said(run, "last") == "step 1,234, the last (not evaluated); the best is step 1,000");
}

TEST_CASE("of a checkpoint outside a run only its step is known") {
  SavedRun run;
  run.save_with_loss(1000, 2.5);
  const TestFolder folder;
  fs::copy(run.step(1000), folder / "copy", fs::copy_options::recursive);
  const Checkpoint copy = load_checkpoint(folder / "copy", "last");
  CHECK(to_text(standing_of(copy)) == "step 1,000");
}
