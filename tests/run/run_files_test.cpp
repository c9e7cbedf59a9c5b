// What counts as a run, which of its files are its own, and what is left alone.
#include "run/run_files.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "failure.h"
#include "saved_run.h"
#include "test.h"

using namespace chargpt;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& content = "x") {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << content;
}

using Names = std::vector<std::string>;

Names as_names(const std::vector<fs::path>& paths) {
  return {paths.begin(), paths.end()};
}

bool is_own(const std::string& name) {
  const TestFolder folder;
  write(folder / name);
  return run_files(folder.path()).foreign.empty();
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
  CHECK(as_names(run_files(saved.path()).replaced) == Names{"run.json"});
  CHECK(failure_of([&] { refuse_replaced(saved.path()); }).code() == ExitCode::busy);
}

TEST_CASE("the names of a run's own files, and names that only look like them") {
  for (const char* name : {"config.json",
                           "metrics.jsonl",
                           "figures.json",
                           "val_losses.json",
                           "val_losses.f32",
                           ".lock",
                           ".config.json.tmp-4711-0",
                           ".chargpt-4711-0.tmp",
                           "checkpoints/.chargpt-1-2.tmp",
                           "events.out.tfevents.1795361460.host.chargpt",
                           "events.out.tfevents.1795361460.10.0.0.7.chargpt.2",
                           "events.out.tfevents.1795361460.vm",
                           "events.out.tfevents.1795361460.vm.example.org.2",
                           "ids-0123456789abcdef.bin",
                           "ids-0123456789abcdef.bin.tmp-17",
                           "samples/step-00000500.txt",
                           "samples/.step-00000500.txt.tmp-1-2",
                           "samples/step-123456789.txt",
                           "checkpoints/LATEST",
                           "checkpoints/BEST",
                           "checkpoints/.BEST.tmp-1-2",
                           "checkpoints/step-00000500/model.safetensors",
                           "checkpoints/.tmp-step-00000500/MANIFEST.json",
                           "checkpoints/.old-step-00000500/vocab.json"}) {
    CAPTURE(name);
    CHECK(is_own(name));
  }
  for (const char* name : {"report.html",
                           "notes.txt",
                           "config.json.bak",
                           ".thesis.tex.tmp-17-3",
                           "Config.json",
                           "events.out.tfevents.1795361460.host.4711.0",
                           "events.out.tfevents.1795361460.host.4711.0.v2",
                           "events.out.tfevents.mine",
                           "events.out.tfevents.1795361460",
                           "ids-mine.bin",
                           "ids-0123456789abcdef.bin.tmp-mine",
                           "ids-0123456789ABCDEF.bin",
                           "samples/recording.wav",
                           "samples/step-500.txt",
                           "samples/step-00000500.txt.bak",
                           "samples/config.json",
                           "checkpoints/mine.pt",
                           "checkpoints/.my.tmp-backup",
                           "checkpoints/.MINE.tmp-1-2",
                           "checkpoints/step-500/model.safetensors",
                           "checkpoints/step-00000500/notes.txt",
                           "checkpoints/.tmp-.old-step-00000500/vocab.json",
                           "checkpoints/config.json",
                           "model.safetensors",
                           "step-00000500.txt"}) {
    CAPTURE(name);
    CHECK_FALSE(is_own(name));
  }
}

TEST_CASE("links and other kinds of files are nobody's, whatever their names") {
  const TestFolder folder, elsewhere;
  write(elsewhere / "step-00000001.txt");
  fs::create_directory_symlink(elsewhere.path(), folder / "samples");
  fs::create_directories(folder / "metrics.jsonl");
  write(folder / "checkpoints/step-00000001");
  fs::create_symlink(elsewhere / "step-00000001.txt", folder / "config.json");
  const RunFiles files = run_files(folder.path());
  CHECK(as_names(files.own) == Names{"checkpoints"});
  CHECK(as_names(files.foreign) == Names{"checkpoints/step-00000001", "config.json", "metrics.jsonl", "samples"});
  CHECK(files.replaced == files.foreign);
}

TEST_CASE("what a crash left of a run's files goes, and nothing else") {
  const TestFolder folder;
  for (const char* name : {".metrics.jsonl.tmp-17-3", "samples/.step-00000001.txt.tmp-1-2", ".lock", "metrics.jsonl",
                           "thesis.tmp-17-3", ".thesis.tmp-17-3", "samples/.letter.tmp-1-2"})
    write(folder / name);
  remove_unfinished_files(folder.path());
  Names left;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (!entry.is_directory()) left.push_back(entry.path().lexically_relative(folder.path()));
  std::sort(left.begin(), left.end());
  CHECK(left == Names{".lock", ".thesis.tmp-17-3", "metrics.jsonl", "samples/.letter.tmp-1-2", "thesis.tmp-17-3"});
}

TEST_CASE("a start that was broken off leaves nothing that is in the way of another") {
  const TestFolder folder;
  refuse_strangers(folder.path(), "--run DIR");
  write(folder / ".lock", "4711");
  write(folder / ".run.json.tmp-4711-0", "{\"format\": \"char");
  refuse_strangers(folder.path(), "--run DIR");
  write(folder / ".run.json.tmp-4711-1", "mine");
  CHECK(std::string(failure_of([&] { refuse_strangers(folder.path(), "--run DIR"); }).what()) ==
        folder.path().string() +
            " holds files that no run wrote (.run.json.tmp-4711-1); choose another folder with --run DIR");
  fs::remove(folder / ".run.json.tmp-4711-1");
  write(folder / ".lock", "mine, and no process's number");
  CHECK(failure_of([&] { refuse_strangers(folder.path(), "--run DIR"); }).code() == ExitCode::busy);
}

TEST_CASE("a file in the place of a run's folder is refused") {
  const TestFolder folder;
  write_file_atomically(folder / "run", "hello");
  const Error error = failure_of([&] { refuse_strangers(folder / "run", "--run DIR"); });
  CHECK(error.code() == ExitCode::io);
  CHECK(std::string(error.what()) == "cannot open the folder " + (folder / "run").string() + ": Not a directory");
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
    std::string refusal;
    while (!marked && refusal.empty()) try {
        refuse_strangers(run, "--run DIR");
      } catch (const Error& error) {
        refusal = error.what();
      }
    other.join();
    REQUIRE(refusal == "");
  }
}
