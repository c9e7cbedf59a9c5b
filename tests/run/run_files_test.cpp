// What counts as a run, which of its files are its own, and what is left alone.
#include "run/run_files.h"

#include <atomic>
#include <thread>

#include "base/files.h"
#include "failure.h"
#include "saved_run.h"
#include "test.h"

using namespace chargpt;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

/// What refuse_replaced() names; empty where it refuses nothing.
std::string refused(const fs::path& run) {
  const auto [code, line] = error_of([&] { refuse_replaced(run); });
  if (code == ExitCode::ok) return "";
  CHECK(code == ExitCode::busy);
  const std::size_t open = line.find('(') + 1;
  return line.substr(open, line.find(')') - open);
}

/// The files below a folder, in order.
Names files_in(const fs::path& folder) {
  Names names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) names.push_back(entry.path().lexically_relative(folder));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a folder is a run by its mark, or by a checkpoint's manifest") {
  const TestFolder folder;
  CHECK_FALSE(is_run(folder.path()));
  CHECK_FALSE(is_run(folder / "nothing"));
  mark_run(folder.path());
  CHECK(is_run(folder.path()));
  CHECK(read_file(folder / "run.json") == "{\"format\": \"chargpt run\", \"version\": 1}\n");
  SavedRun saved;
  saved.save(100);
  CHECK(is_run(saved.path()));
}

TEST_CASE("a mark of a later version is one") {
  const TestFolder folder;
  write(folder / "run.json", R"({"format": "chargpt run", "version": 2, "more": []})");
  CHECK(is_run(folder.path()));
}

TEST_CASE("what only looks like a run is none") {
  const TestFolder folder;
  for (const char* content : {"", "{}", "[]", R"({"format": "my run", "version": 1})", R"({"format": "chargpt run"})",
                              R"({"format": "chargpt run", "version": 0})"}) {
    CAPTURE(content);
    write(folder / "run.json", content);
    CHECK_FALSE(is_run(folder.path()));
  }
  write(folder / "elsewhere", R"({"format": "chargpt run", "version": 1})");
  fs::remove(folder / "run.json");
  fs::create_symlink("elsewhere", folder / "run.json");
  CHECK_FALSE(is_run(folder.path()));
  write(folder / "config.json", "{}");
  write(folder / "checkpoints/mine.pt");
  write(folder / "checkpoints/step-00000100/model.safetensors");
  CHECK_FALSE(is_run(folder.path()));
  write(folder / "checkpoints/step-00000100/MANIFEST.json",
        R"({"format": "chargpt checkpoint", "version": 1, "files": {}})");
  CHECK_FALSE(is_run(folder.path()));
}

TEST_CASE("the mark of another program is not replaced") {
  SavedRun saved;
  saved.save(100);
  write(saved.path() / "run.json", "{}");
  CHECK(refused(saved.path()) == "run.json");
}

TEST_CASE("links and other kinds of files in the place of a run's own are refused, and no others") {
  const TestFolder folder, elsewhere;
  write(elsewhere / "step-00000001.txt");
  fs::create_symlink(elsewhere / "step-00000001.txt", folder / "notes");
  fs::create_directories(folder / "checkpoints/mine.pt");
  fs::create_directories(folder / "samples/step-1.txt");
  write(folder / "config.json");
  CHECK(refused(folder.path()).empty());
  write(folder / "checkpoints/step-00000001");
  fs::create_directories(folder / "checkpoints/BEST");
  CHECK(refused(folder.path()) == "checkpoints/BEST, checkpoints/step-00000001");
  fs::create_directories(folder / "samples/step-00000001.txt");
  CHECK(refused(folder.path()) == "samples/step-00000001.txt, checkpoints/BEST, checkpoints/step-00000001");
  fs::remove_all(folder / "samples");
  fs::create_directory_symlink(elsewhere.path(), folder / "samples");
  fs::create_directories(folder / "metrics.jsonl");
  fs::create_symlink(elsewhere / "step-00000001.txt", folder / ".lock");
  CHECK(refused(folder.path()) == ".lock, metrics.jsonl, samples and 2 more");
}

TEST_CASE("what a crash left of a run's files goes, and nothing else") {
  const TestFolder folder;
  for (const char* name : {".chargpt-17-3.tmp", "samples/.chargpt-1-2.tmp", ".lock", "metrics.jsonl", "thesis.tmp-17-3",
                           ".thesis.tmp-17-3", "samples/.letter.tmp-1-2", "notes/.chargpt-1-2.tmp"})
    write(folder / name);
  remove_unfinished_files(folder.path());
  CHECK(files_in(folder.path()) == Names{".lock", ".thesis.tmp-17-3", "metrics.jsonl", "notes/.chargpt-1-2.tmp",
                                         "samples/.letter.tmp-1-2", "thesis.tmp-17-3"});
}

TEST_CASE("of a run that made no step all goes that it wrote, and nothing else") {
  const TestFolder folder;
  for (const char* name :
       {"config.json", "metrics.jsonl", "text.json", "events.out.tfevents.1795361460.host.chargpt",
        "samples/step-00000000.txt", ".chargpt-1-2.tmp", "checkpoints/notes.txt", ".lock", "mine.txt"})
    write(folder / name);
  mark_run(folder.path());
  remove_beginning(folder.path());
  CHECK(files_in(folder.path()) == Names{".lock", "checkpoints/notes.txt", "mine.txt"});
  CHECK_FALSE(fs::exists(folder / "samples"));
}

TEST_CASE("a start that was broken off leaves nothing that is in the way of another") {
  const TestFolder folder;
  refuse_strangers(folder.path(), "--run DIR");
  write(folder / ".lock", "4711");
  write(folder / ".chargpt-4711-0.tmp", "{\"format\": \"char");
  refuse_strangers(folder.path(), "--run DIR");
  write(folder / ".chargpt-4711-1.tmp", "mine");
  CHECK(error_of([&] { refuse_strangers(folder.path(), "--run DIR"); }).line ==
        folder.path().string() +
            " holds files that no run wrote (.chargpt-4711-1.tmp); choose another folder with --run DIR");
  fs::remove(folder / ".chargpt-4711-1.tmp");
  write(folder / ".lock", "mine, and no process's number");
  CHECK(failure_of([&] { refuse_strangers(folder.path(), "--run DIR"); }).code() == ExitCode::busy);
}

TEST_CASE("a file in the place of a run's folder is refused") {
  const TestFolder folder;
  write_file_atomically(folder / "run", "hello");
  CHECK(error_of([&] { refuse_strangers(folder / "run", "--run DIR"); }) ==
        Failure{ExitCode::io, "cannot open the folder " + (folder / "run").string() + ": Not a directory"});
}

TEST_CASE("a save under way in another process is in nobody's way, at any moment") {
  SavedRun saved;
  saved.save(100);
  std::atomic<bool> ended = false;
  std::thread saver([&] {
    const fs::path unfinished = saved.path() / "checkpoints/.tmp-step-00000200";
    while (!ended) {
      fs::create_directory(unfinished);
      fs::remove(unfinished);
    }
  });
  for (int time = 0; time < 2000; ++time) CHECK_NOTHROW(refuse_replaced(saved.path()));
  ended = true;
  saver.join();
}

TEST_CASE("a start under way in another process is no stranger, at any moment") {
  const TestFolder folder;
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    const fs::path run = folder / std::to_string(round);
    fs::create_directory(run);
    std::atomic<bool> marked = false;
    std::thread other([&] {
      mark_run(run);
      marked = true;
    });
    Failure refusal;
    while (!marked && refusal == Failure{}) refusal = error_of([&] { refuse_strangers(run, "--run DIR"); });
    other.join();
    REQUIRE(refusal == Failure{});
  }
}
