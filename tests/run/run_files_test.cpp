// What counts as a run, which of its files are its own, and what is left alone.
#include "run/run_files.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "failure.h"
#include "saved_run.h"

using namespace chargpt;

namespace {

/// The files below a folder, in order.
Names files_in(const fs::path& folder) {
  Names names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) names.push_back(entry.path().lexically_relative(folder));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("names of checkpoints are exactly the step's, others are no checkpoints") {
  CHECK(checkpoint_name(2000) == "step-00002000");
  CHECK(checkpoint_name(123456789012) == "step-123456789012");
  CHECK(step_of("step-00000000.safetensors", ".safetensors") == 0);
  CHECK(step_of("step-123456789012.txt", ".txt") == 123456789012);
  for (const char* name :
       {"", "step-", "step-2000", "step-0000002000", "step--0000001", "step-00002000/", "step-0000x000",
        "../step-00002000", "step-99999999999999999999", "STEP-00002000", "step-+0002000"})
    CHECK_FALSE(step_of(name + std::string(".txt"), ".txt"));
  CHECK_FALSE(step_of("step-00002000", ".txt"));
  CHECK_FALSE(step_of("step-00002000.safetensors", ".txt"));
}

TEST_CASE_METHOD(TestFolder, "a folder is a run by its mark") {
  CHECK_FALSE(is_run(path()));
  CHECK_FALSE(is_run(path() / "nothing"));
  mark_run(path());
  CHECK(is_run(path()));
  CHECK(run_fact(path(), "version") == 1);
  CHECK(run_fact(path(), "figures").is_null());
  keep_run_fact(path(), "figures", {{"loss", 1.5}});
  CHECK(run_fact(path(), "figures").at("loss") == 1.5);
  keep_run_fact(path(), "figures", nullptr);
  CHECK(run_fact(path(), "figures").is_null());
  CHECK(is_run(path()));
}

TEST_CASE_METHOD(TestFolder, "a folder that cannot be looked at is not taken for one that is no run") {
  fs::create_symlink("circle", path() / "circle");
  const auto [code, line] = error_of([&] { is_run(path() / "circle"); });
  CHECK(code == ExitCode::io);
  CHECK_THAT(line, Catch::Contains("circle"));
}

TEST_CASE_METHOD(TestFolder, "a mark of a later version is one") {
  write("run.json", R"({"format": "chargpt run", "version": 2, "more": []})");
  CHECK(is_run(path()));
}

TEST_CASE_METHOD(TestFolder, "what only looks like a run is none") {
  for (const char* content : {"", "{}", "[]", R"({"format": "my run", "version": 1})"}) {
    CAPTURE(content);
    write("run.json", content);
    CHECK_FALSE(is_run(path()));
  }
  write("checkpoints/step-00000001.safetensors");
  for (const char* content : {"", "[]", R"({"format": "chargpt run", "vers)"}) {
    write("run.json", content);
    CHECK_THROWS_WITH(is_run(path()),
                      (path() / "run.json").string() +
                          " is damaged: it is not a JSON object; put back a copy, or use a checkpoint elsewhere");
  }
  write("elsewhere", R"({"format": "chargpt run", "version": 1})");
  fs::remove(path() / "run.json");
  fs::create_symlink("elsewhere", path() / "run.json");
  CHECK_FALSE(is_run(path()));
  write("config.json", "{}");
  write("checkpoints/mine.pt");
  write("checkpoints/step-00000100.safetensors");
  CHECK_FALSE(is_run(path()));
  SavedRun saved;
  saved.save(100);
  CHECK_FALSE(is_run(saved.path()));
}

TEST_CASE_METHOD(TestFolder, "what a crash left of a run's files goes, and nothing else") {
  for (const char* name : {".chargpt-17-3.partial", "samples/.chargpt-1-2.partial", ".lock", "metrics.jsonl",
                           "thesis.tmp-17-3", ".thesis.tmp-17-3", "samples/.letter.tmp-1-2",
                           "checkpoints/.chargpt-1-3.partial", "mine.partial", "notes/.chargpt-1-2.partial"})
    write(name);
  remove_unfinished_files(path());
  CHECK(files_in(path()) == Names{".lock", ".thesis.tmp-17-3", "metrics.jsonl", "mine.partial",
                                  "notes/.chargpt-1-2.partial", "samples/.letter.tmp-1-2", "thesis.tmp-17-3"});
}

TEST_CASE_METHOD(TestFolder, "a start that was broken off leaves nothing that is in the way of another") {
  refuse_strangers(path(), "--run DIR");
  write(".lock");
  write(".chargpt-4711-0.partial", "{\"format\": \"char");
  refuse_strangers(path(), "--run DIR");
  write("notes", "mine");
  CHECK(error_of([&] { refuse_strangers(path(), "--run DIR"); }).line ==
        path().string() + " contains files that chargpt did not write (notes); choose another folder with --run DIR");
}

TEST_CASE_METHOD(TestFolder, "a start under way in another process is no stranger, at any moment") {
  constexpr int rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    const fs::path run = path() / std::to_string(round);
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
