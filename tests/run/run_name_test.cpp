// What people call a run, and the folder that they mean.
#include "run/run_name.h"

#include <chrono>

#include "base/files.h"
#include "failure.h"
#include "run/run_files.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

/// A run that saved its last checkpoint `minutes` ago.
void make_run(const fs::path& run, int minutes = 0) {
  fs::create_directories(run / "checkpoints");
  mark_run(run);
  const fs::path file = run / "checkpoints/step-00000001.safetensors";
  write_file_atomically(file, "");
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
}

}  // namespace

TEST_CASE_METHOD(WorkingFolder, "a run is meant by its name in runs/, and by a file of its own") {
  make_run("runs/mine");
  make_run("other");
  write_file_atomically("other/config.json", "{}");
  CHECK(run_meant("mine") == "runs/mine");
  CHECK(run_meant("runs/mine") == "runs/mine");
  CHECK(run_meant("other/config.json") == "other");
  CHECK(run_meant("nowhere") == "nowhere");
  fs::current_path("other");
  CHECK(run_meant("config.json") == ".");
  fs::current_path("..");
  CHECK(run_meant("./mine") == "./mine");
  fs::create_directory("mine");  // what is called that itself comes first
  CHECK(run_meant("mine") == "mine");
  make_run("runs/v1.bin");  // not a model of another program, whatever its name
  CHECK(run_meant("v1.bin") == "runs/v1.bin");
  CHECK(run_meant("runs/v1.bin") == "runs/v1.bin");
}

TEST_CASE_METHOD(WorkingFolder, "where configs are taken too, presets and paths come before the runs of that name") {
  for (const char* name : {"mine", "quick", "bigram"}) make_run(fs::path("runs") / name);
  CHECK(config_or_run_meant("mine") == "runs/mine");
  CHECK(config_or_run_meant("quick") == "quick");
  CHECK(config_or_run_meant("bigram") == "bigram");  // of the ladder
  CHECK(config_or_run_meant("runs/quick") == "runs/quick");
  write_file_atomically("mine", "{}");
  CHECK(config_or_run_meant("mine") == "mine");
}

TEST_CASE_METHOD(WorkingFolder, "the newest run is the one that saved last") {
  CHECK_THAT(message_of(ExitCode::missing, [] { newest_run(); }),
             Catch::Contains("runs/ contains no run; name a run's folder, or train one with"));
  make_run("runs/first", 30);
  make_run("runs/second", 20);
  fs::create_directory("runs/no-run");
  write_file_atomically("runs/file", "");
  fs::create_symlink("loop", "runs/loop");  // cannot be opened
  CHECK(newest_run() == "runs/second");
  make_run("runs/zz", 40);
  fs::create_directory("runs/saved-nothing");
  mark_run("runs/saved-nothing");
  CHECK(newest_run() == "runs/second");
}
