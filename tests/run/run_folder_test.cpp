// The folder of a new run: what a refusal leaves of it, and what it never touches.
#include <filesystem>
#include <set>
#include <string>

#include "base/files.h"
#include "failure.h"
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
  { const NewRun run(folder / "a/b/run", "mine", /*overwrite=*/{}); }
  CHECK(entries(folder.path()).empty());
}

TEST_CASE("a folder that was there before stays, empty as it was") {
  const TestFolder folder;
  fs::create_directory(folder / "run");
  { const NewRun run(folder / "run", "mine", /*overwrite=*/{}); }
  CHECK(entries(folder.path()) == std::set<std::string>{"run"});
}

TEST_CASE("a run that fails after it began and before its first step leaves nothing") {
  const TestFolder folder;
  {
    NewRun run(folder / "run", "mine", /*overwrite=*/{});
    run.begin();
    write_file_atomically(run.path() / "config.json", "{}");
    write_file_atomically(run.path() / "events.out.tfevents.1.host", "");
  }
  CHECK(entries(folder.path()).empty());
}

TEST_CASE("a run that has come to something stays") {
  const TestFolder folder;
  {
    NewRun run(folder / "run", "mine", /*overwrite=*/{});
    run.begin();
    write_file_atomically(run.path() / "config.json", "{}");
    run.keep();
  }
  CHECK(entries(folder.path()) == std::set<std::string>{"run", "run/.lock", "run/config.json", "run/run.json"});
}

TEST_CASE("a run is marked before anything else of it is there") {
  const TestFolder folder;
  NewRun run(folder / "run", "mine", /*overwrite=*/{});
  CHECK(entries(folder / "run") == std::set<std::string>{".lock"});
  run.begin();
  CHECK(entries(folder / "run") == std::set<std::string>{".lock", "run.json"});
}

TEST_CASE("an overwritten run is renamed, with all that is in it, and comes back if the new one does not begin") {
  const TestFolder folder;
  const fs::path path = folder / "run";
  write_old_run(path);
  write_file_atomically(path / "notes.txt", "mine");
  fs::create_directory(folder / "run.old-1");  // somebody's
  { const NewRun run(path, "mine", {.allowed = true}); }
  std::set<std::string> as_before = old_run;
  as_before.insert({".lock", "notes.txt"});
  CHECK(entries(path) == as_before);
  {
    NewRun run(path / "", "mine", {.allowed = true});
    run.begin();
    CHECK(entries(path) == std::set<std::string>{".lock", "run.json"});
    CHECK(run.old_run() == folder / "run.old-2");
    CHECK(is_locked(run.old_run()));
    CHECK(entries(run.old_run()) == as_before);
  }
  CHECK(entries(path) == as_before);
  {
    NewRun run(path, "mine", {.allowed = true});
    run.begin();
    run.keep();
  }
  CHECK(entries(path) == std::set<std::string>{".lock", "run.json"});
  CHECK(entries(folder / "run.old-2") == as_before);
  CHECK(entries(folder / "run.old-1").empty());
}

TEST_CASE("a run that another process trains is not renamed") {
  const TestFolder folder;
  write_old_run(folder / "run");
  const RunLock lock(folder / "run");
  CHECK_THROWS_WITH(NewRun(folder / "run", "mine", {.allowed = true}), Catch::Contains("is in use by another process"));
  CHECK(fs::is_directory(folder / "run"));
}

TEST_CASE("no text that is still to be read moves away with an overwritten run, whatever leads to it") {
  const TestFolder folder;
  const fs::path run = folder / "run", text = run / "kept-text.txt";
  write_old_run(run);
  fs::create_directory(folder / "texts");
  write_file_atomically(folder / "texts/mine.txt", "mine");
  write_file_atomically(text, "kept");
  fs::create_symlink(folder / "texts/mine.txt", run / "link-out.txt");
  fs::create_symlink(text, folder / "texts/link-in.txt");
  fs::create_symlink("link-in.txt", folder / "texts/link-to-link.txt");
  fs::create_directory_symlink(run, folder / "by-another-name");
  fs::create_hard_link(text, folder / "texts/same-file.txt");
  const auto refused = [&](const fs::path& file) {
    const auto [code, line] = error_of([&] {
      refuse_occupied(run, {.allowed = true, .files = {folder / "texts/mine.txt", file}});
    });
    if (code == ExitCode::ok) return false;
    CHECK(code == ExitCode::busy);
    CHECK_THAT(line, Catch::StartsWith(file.string() + " is in " + run.string()));
    return true;
  };
  for (const char* name : {"run/kept-text.txt", "run/link-out.txt", "texts/link-in.txt", "texts/link-to-link.txt",
                           "by-another-name/kept-text.txt", "texts/../run/kept-text.txt"}) {
    CAPTURE(name);
    CHECK(refused(folder / name));
  }
  CHECK_FALSE(refused(folder / "texts/same-file.txt"));
  CHECK_FALSE(refused(folder / "texts/mine.txt"));
  CHECK_THROWS_WITH(NewRun(run, "mine", {.allowed = true, .files = {text}}), Catch::Contains("choose another folder"));
  CHECK(fs::exists(text));
}

TEST_CASE("a folder without a name of its own is not renamed") {
  const TestFolder folder;
  write_old_run(folder.path());
  fs::create_directory(folder / "sub");
  CHECK_THROWS_WITH(NewRun(folder / "sub/..", "mine", {.allowed = true}), Catch::Contains("give its name"));
}

TEST_CASE("an existing run is refused with the choices there are, and left as it is") {
  const TestFolder folder;
  fs::create_directory(folder / "run");
  write_old_run(folder / "run");
  const std::string run = (folder / "run").string();
  CHECK_THROWS_WITH(
      NewRun(run, "mine", {}),
      run +
          " already holds a run, which ended before it saved a checkpoint: choose another folder with --run "
          "DIR, or start over with --overwrite");
  fs::create_directories(folder / "run/checkpoints/step-00000001");
  CHECK_THROWS_WITH(NewRun(run, "mine", {}),
                    run + " already holds a run: go on with `chargpt resume " + run +
                        "`, choose another folder with --run DIR, or start over with --overwrite");
  std::set<std::string> as_before = old_run;
  as_before.insert({"checkpoints", "checkpoints/step-00000001"});
  CHECK(entries(folder / "run") == as_before);
}

TEST_CASE("a run that is renamed before its first step is left, and so is what has its name now") {
  const TestFolder folder;
  {
    NewRun run(folder / "run", "mine", /*overwrite=*/{});
    run.begin();
    fs::rename(folder / "run", folder / "moved");
    write_old_run(folder / "run");  // of somebody else
  }
  CHECK(entries(folder / "run") == old_run);
  CHECK(entries(folder / "moved") == std::set<std::string>{".lock", "run.json"});
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
      NewRun(folder.path().string(), "mine", {}),
      folder.path().string() + " holds files that no run wrote (thesis.tex); choose another folder with --run DIR");
  CHECK(entries(folder.path()) == std::set<std::string>{"thesis.tex"});
}

TEST_CASE("a second start on a folder whose run has not begun is refused, and does not take the first one's lock") {
  const TestFolder folder;
  const NewRun first(folder / "run", "mine", /*overwrite=*/{});
  CHECK_THROWS_WITH(NewRun(folder / "run", "mine", {}), Catch::Contains("is in use by another process"));
  CHECK_THROWS_WITH(NewRun(folder / "run", "mine", {.allowed = true}), Catch::Contains("is in use by another process"));
  CHECK(entries(folder.path()) == std::set<std::string>{"run", "run/.lock"});
}
