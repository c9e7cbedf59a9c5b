// The folder of a new run: what a refusal leaves of it, and what it never touches.
#include <filesystem>
#include <set>
#include <string>

#include "base/files.h"
#include "run/run_files.h"
#include "run/run_folder.h"
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

/// A run that ended before it saved.
void write_old_run(const fs::path& run) {
  fs::create_directories(run / "samples");
  mark_run(run);
  write_file_atomically(run / "config.json", "{}");
  write_file_atomically(run / "metrics.jsonl", "{}\n");
}

const std::set<std::string> old_run = {"config.json", "metrics.jsonl", "run.json", "samples"};

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
  CHECK(entries(folder.path()) == std::set<std::string>{"run", "run/.lock", "run/config.json", "run/run.json"});
}

TEST_CASE("a run is marked before anything else of it is there") {
  const TestFolder folder;
  NewRun run(folder / "run", "mine", /*overwrite=*/false);
  CHECK(entries(folder / "run") == std::set<std::string>{".lock"});
  run.begin();
  CHECK(entries(folder / "run") == std::set<std::string>{".lock", "run.json"});
}

TEST_CASE("an overwritten run is whole until the new one begins") {
  const TestFolder folder;
  write_old_run(folder.path());
  { const NewRun run(folder.path(), "mine", /*overwrite=*/true); }
  CHECK(entries(folder.path()) == old_run);
  {
    NewRun run(folder.path(), "mine", /*overwrite=*/true);
    run.begin();
    CHECK(entries(folder.path()) == std::set<std::string>{".lock", "run.json"});
  }
  CHECK(entries(folder.path()).empty());
}

TEST_CASE("a run with foreign files in it is not overwritten, whenever they came") {
  const TestFolder folder;
  write_old_run(folder.path());
  NewRun run(folder.path(), "mine", /*overwrite=*/true);
  write_file_atomically(folder / "notes.txt", "mine");
  write_file_atomically(folder / "samples/recording.wav", "mine");
  const std::string refusal =
      folder.path().string() +
      " holds files that no run wrote (notes.txt, samples/recording.wav), and --overwrite removes only a run's own: "
      "move them elsewhere, or choose another folder with --run DIR";
  CHECK_THROWS_WITH(run.begin(), refusal);
  CHECK_THROWS_WITH(NewRun(folder.path(), "mine", true), refusal);
  CHECK(entries(folder.path()) == std::set<std::string>{".lock", "config.json", "metrics.jsonl", "notes.txt",
                                                        "run.json", "samples", "samples/recording.wav"});
}

TEST_CASE("an existing run is refused with the choices there are, and left as it is") {
  const TestFolder folder;
  fs::create_directory(folder / "run");
  write_old_run(folder / "run");
  const std::string run = (folder / "run").string();
  CHECK_THROWS_WITH(
      NewRun(run, "mine", false),
      run +
          " already holds a run, which ended before it saved a checkpoint: choose another folder with --run "
          "DIR, or start over with --overwrite");
  fs::create_directories(folder / "run/checkpoints/step-00000001");
  CHECK_THROWS_WITH(NewRun(run, "mine", false),
                    run + " already holds a run: go on with `chargpt resume " + run +
                        "`, choose another folder with --run DIR, or start over with --overwrite");
  std::set<std::string> as_before = old_run;
  as_before.insert({"checkpoints", "checkpoints/step-00000001"});
  CHECK(entries(folder / "run") == as_before);
}

TEST_CASE("a run that is renamed before its first step is undone where it is") {
  const TestFolder folder;
  {
    NewRun run(folder / "run", "mine", /*overwrite=*/false);
    run.begin();
    fs::rename(folder / "run", folder / "moved");
    write_old_run(folder / "run");  // of somebody else
    CHECK(run.path() == folder / "moved");
  }
  CHECK(entries(folder / "run") == old_run);
  CHECK(entries(folder / "moved").empty());
}

TEST_CASE("folders of results: a new one, gone again where nothing came into it") {
  const TestFolder folder;
  {
    ResultsFolder results(folder / "a/b", "tune");
    CHECK(fs::is_directory(folder / "a/b"));
    CHECK(results.path() == folder / "a/b");
  }
  CHECK(entries(folder.path()).empty());
  {
    ResultsFolder results(folder / "a", "tune");
    write_file_atomically(results.path() / "tuned.json", "{}");
  }
  CHECK(entries(folder.path()) == std::set<std::string>{"a", "a/tuned.json"});
  CHECK_THROWS_WITH(
      ResultsFolder(folder / "a", "tune"),
      (folder / "a").string() + " holds files that no run wrote (tuned.json); choose another folder with --out DIR");
  ResultsFolder gone_on(folder / "a", "compare", /*goes_on=*/true);
  mark_run(folder / "a");
  CHECK_THROWS_WITH(ResultsFolder(folder / "a", "compare", /*goes_on=*/true), Catch::Contains("holds a run"));
}

TEST_CASE("a folder of something else is refused and gets no lock") {
  const TestFolder folder;
  write_file_atomically(folder / "thesis.tex", "");
  CHECK_THROWS_WITH(
      NewRun(folder.path().string(), "mine", false),
      folder.path().string() + " holds files that no run wrote (thesis.tex); choose another folder with --run DIR");
  CHECK(entries(folder.path()) == std::set<std::string>{"thesis.tex"});
}

TEST_CASE("a second start on a folder whose run has not begun is refused, and does not take the first one's lock") {
  const TestFolder folder;
  const NewRun first(folder / "run", "mine", /*overwrite=*/false);
  CHECK_THROWS_WITH(NewRun(folder / "run", "mine", false), Catch::Contains("is in use by another process"));
  CHECK_THROWS_WITH(NewRun(folder / "run", "mine", true), Catch::Contains("is in use by another process"));
  CHECK(entries(folder.path()) == std::set<std::string>{"run", "run/.lock"});
}
