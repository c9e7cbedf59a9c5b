// What is said of a checkpoint beside the others of its run.
#include "run/best.h"

#include <filesystem>

#include "saved_run.h"
#include "test.h"

using namespace chargpt;
namespace fs = std::filesystem;

namespace {

std::string said(SavedRun& run, const std::string& which) {
  return to_text(standing_of(run.load(which)));
}

}  // namespace

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
