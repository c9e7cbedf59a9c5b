// The folder of a new run: what a refusal leaves of it, and what it never touches.
#include <filesystem>
#include <set>
#include <string>

#include "base/files.h"
#include "cli/run_folder.h"
#include "test.h"
#include "test_folder.h"

using namespace chargpt;
namespace fs = std::filesystem;

namespace {

std::set<std::string> entries(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.insert(entry.path().lexically_relative(folder).string());
  return names;
}

/// A run that ended before it saved, and a file that is no part of it.
void write_old_run(const fs::path& run) {
  fs::create_directories(run / "samples");
  write_file_atomically(run / "config.json", "{}");
  write_file_atomically(run / "metrics.jsonl", "{}\n");
  write_file_atomically(run / "notes.txt", "mine");
}

const std::set<std::string> old_run = {"config.json", "metrics.jsonl", "notes.txt", "samples"};

}  // namespace

TEST_CASE("a run that does not begin leaves nothing, not even the folders above it") {
  const TestFolder folder;
  { const NewRun run(folder / "a/b/run", "mine", /*overwrite=*/false); }
  CHECK(entries(folder.path()).empty());
}

TEST_CASE("a folder that was there before stays, empty as it was") {
  const TestFolder folder;
  fs::create_directory(folder / "run");
  { const NewRun run(folder / "run", "mine", /*overwrite=*/false); }
  CHECK(entries(folder.path()) == std::set<std::string>{"run"});
}

TEST_CASE("a run that fails after it began and before its first step leaves nothing") {
  const TestFolder folder;
  {
    NewRun run(folder / "run", "mine", /*overwrite=*/false);
    run.begin();
    write_file_atomically(run.path() / "config.json", "{}");
    write_file_atomically(run.path() / "events.out.tfevents.1.host", "");
  }
  CHECK(entries(folder.path()).empty());
}

TEST_CASE("a run that has come to something stays") {
  const TestFolder folder;
  {
    NewRun run(folder / "run", "mine", /*overwrite=*/false);
    run.begin();
    write_file_atomically(run.path() / "config.json", "{}");
    run.keep();
  }
  CHECK(entries(folder.path()) == std::set<std::string>{"run", "run/.lock", "run/config.json"});
}

TEST_CASE("an overwritten run is whole until the new one begins, and other files outlive it") {
  const TestFolder folder;
  write_old_run(folder.path());
  { const NewRun run(folder.path(), "mine", /*overwrite=*/true); }
  CHECK(entries(folder.path()) == old_run);
  {
    NewRun run(folder.path(), "mine", /*overwrite=*/true);
    run.begin();
    CHECK(entries(folder.path()) == std::set<std::string>{".lock", "notes.txt"});
  }
  CHECK(entries(folder.path()) == std::set<std::string>{"notes.txt"});
}

TEST_CASE("an existing run is refused with the choices there are, and left as it is") {
  const TestFolder folder;
  fs::create_directory(folder / "run");
  write_file_atomically(folder / "run/config.json", "{}");
  const std::string run = (folder / "run").string();
  CHECK_THROWS_WITH(
      NewRun(run, "mine", false),
      run +
          " already holds a run, which ended before it saved a checkpoint: choose another folder by --run "
          "DIR, or start over by --overwrite");
  fs::create_directories(folder / "run/checkpoints/step-00000001");
  CHECK_THROWS_WITH(NewRun(run, "mine", false),
                    run + " already holds a run: go on with it by `chargpt resume " + run +
                        "`, choose another folder by --run DIR, or start over by --overwrite");
  CHECK(entries(folder / "run") == std::set<std::string>{"checkpoints", "checkpoints/step-00000001", "config.json"});
}

TEST_CASE("a folder of something else is refused and gets no lock") {
  const TestFolder folder;
  write_file_atomically(folder / "thesis.tex", "");
  CHECK_THROWS_WITH(NewRun(folder.path().string(), "mine", false),
                    folder.path().string() +
                        " holds files that are no part of a run (thesis.tex); choose another folder by --run DIR");
  CHECK(entries(folder.path()) == std::set<std::string>{"thesis.tex"});
}

TEST_CASE("a second start on a folder whose run has not begun is refused, and does not take the first one's lock") {
  const TestFolder folder;
  const NewRun first(folder / "run", "mine", /*overwrite=*/false);
  CHECK_THROWS_WITH(NewRun(folder / "run", "mine", false), Catch::Contains("is in use by another process"));
  CHECK_THROWS_WITH(NewRun(folder / "run", "mine", true), Catch::Contains("is in use by another process"));
  CHECK(entries(folder.path()) == std::set<std::string>{"run", "run/.lock"});
}
