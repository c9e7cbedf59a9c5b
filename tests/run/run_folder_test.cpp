// The folder of a new run: what a refusal leaves of it, and what it never touches.
#include <set>

#include "base/files.h"
#include "failure.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

std::set<std::string> all_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.insert(entry.path().lexically_relative(folder).string());
  return names;
}

/// A run that ended before it saved.
void write_old_run(const fs::path& run) {
  fs::create_directories(run / "samples");
  mark_run(run);
  write_file_atomically(run / "config.json", "{}");
  write_file_atomically(run / "metrics.jsonl", "{}\n");
}

const std::set<std::string> old_run = {"config.json", "metrics.jsonl", "run.json", "samples"};

}  // namespace

TEST_CASE_METHOD(TestFolder, "the run of a checkpoint is two folders above it; a file elsewhere has no run") {
  mark_run(path());
  CHECK(run_of(path() / "checkpoints/step-00000020.safetensors") == path());
  CHECK(run_of(path() / "no/checkpoints/step-00000020.safetensors") != path() / "no");
  CHECK(run_of("mine/") == fs::path("mine"));
  CHECK(run_of(write("step-00000020.safetensors")).empty());
}

TEST_CASE_METHOD(TestFolder, "a new run gets a folder that is made, locked and marked") {
  const OwnFolder run = new_run(path() / "a/b/run", "mine", /*overwrite=*/false);
  CHECK(all_in(path() / "a/b/run") == std::set<std::string>{".lock", "run.json"});
  CHECK(is_locked(run.path));
  CHECK(run.old_run.empty());
}

TEST_CASE_METHOD(TestFolder, "a folder that is empty, or that an interrupted start left, is taken") {
  write("run/.lock", "4711");
  write("run/.chargpt-4711-0.partial", "{");
  const OwnFolder run = new_run(path() / "run", "mine", /*overwrite=*/false);
  CHECK(is_run(run.path));
}

TEST_CASE_METHOD(TestFolder, "an overwritten run is renamed with everything in it") {
  const fs::path folder = path() / "run";
  write_old_run(folder);
  write_file_atomically(folder / "notes.txt", "mine");
  fs::create_directory(path() / "run.old-1");  // somebody's
  CHECK_THROWS_WITH(new_run(folder, "mine", /*overwrite=*/false), Catch::Contains("before its first checkpoint"));
  const OwnFolder run = new_run(folder / "", "mine", /*overwrite=*/true);
  CHECK(all_in(folder) == std::set<std::string>{".lock", "run.json"});
  CHECK(run.old_run == path() / "run.old-2");
  std::set<std::string> as_before = old_run;
  as_before.insert({".lock", "notes.txt"});
  CHECK(all_in(run.old_run) == as_before);
  CHECK(all_in(path() / "run.old-1").empty());
}

TEST_CASE_METHOD(TestFolder, "a run that another process trains is not renamed") {
  write_old_run(path() / "run");
  const Descriptor lock = lock_run(path() / "run");
  CHECK_THROWS_WITH(new_run(path() / "run", "mine", /*overwrite=*/true),
                    Catch::Contains("is in use by another process"));
  CHECK(fs::is_directory(path() / "run"));
}

TEST_CASE_METHOD(TestFolder, "a folder without a name of its own is not renamed") {
  write_old_run(path());
  fs::create_directory(path() / "sub");
  CHECK_THROWS_WITH(new_run(path() / "sub/..", "mine", /*overwrite=*/true), Catch::Contains("give its name"));
}

TEST_CASE_METHOD(TestFolder, "a folder of results is never a run's, and one process writes there if it must be alone") {
  const OwnFolder results = results_folder(path() / "a/b", /*alone=*/true);
  CHECK(results.path == path() / "a/b");
  CHECK_THROWS_WITH(results_folder(path() / "a/b", /*alone=*/true), Catch::Contains("is in use by another process"));
  mark_run(path() / "a");
  CHECK_THROWS_WITH(results_folder(path() / "a", /*alone=*/false), Catch::Contains("contains a run"));
}
