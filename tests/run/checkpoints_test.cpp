// Checkpoints as a user meets them: saved, chosen, kept, damaged, and left behind by crashes.
#include "run/checkpoint.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/open_folder.h"
#include "config/describe.h"
#include "failure.h"
#include "run/checkpoint_folder.h"
#include "saved_run.h"

using namespace chargpt;

namespace {

std::string first_weight(const Checkpoint& checkpoint) {
  float value = 0;
  std::memcpy(&value, checkpoint.model->find("w")->bytes.data(), sizeof value);
  return std::to_string(static_cast<int>(value));
}

/// Damages one byte in the middle of a file.
void damage(const fs::path& path) {
  std::string bytes = read_file(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file_atomically(path, bytes);
}

}  // namespace

TEST_CASE_METHOD(SavedRun, "a checkpoint comes back as it was saved") {
  const fs::path path = save(500, true);
  CHECK(path == step(500));
  CHECK(entries_of(path) == Names{"MANIFEST.json", "config.json", "model.safetensors", "optimizer.safetensors",
                                  "state.json", "vocab.json"});
  CHECK(read_file(checkpoints() / "LATEST") == "step-00000500\n");
  CHECK(read_file(checkpoints() / "BEST") == "step-00000500\n");
  const Checkpoint checkpoint = load();
  CHECK(notices.empty());
  CHECK(checkpoint.path == path);
  RunState state = state_of(500);
  state.val_loss = state.best_val_loss = 1.875;
  state.best_step = 500;
  CHECK(to_json(checkpoint.state) == to_json(state));
  CHECK(checkpoint.vocabulary == vocabulary());
  CHECK(to_json(checkpoint.config.config) == to_json(config().config));
  CHECK(checkpoint.config.origin == config().origin);
  CHECK(checkpoint.config.origin.at("train.learning_rate") == "mine.json:1");
  CHECK(first_weight(checkpoint) == "500");
  CHECK(checkpoint.optimizer->find("m")->shape == std::vector<std::int64_t>{2, 3});
}

TEST_CASE_METHOD(SavedRun, "best, last, a step and a folder are found") {
  save(100, false, 9);
  save(200, true, 9);
  save(300, false, 9);
  CHECK(first_weight(load("best")) == "200");
  CHECK(first_weight(load("last")) == "300");
  CHECK(first_weight(load("step-100")) == "100");
  CHECK(first_weight(load("step-00000100")) == "100");
  std::vector<std::string> notices;
  CHECK(first_weight(load_checkpoint(step(100), "best", false, &notices)) == "100");
  CHECK(first_weight(load_checkpoint(step(100).string() + "/", "last", false, &notices)) == "100");
  CHECK(first_weight(load_checkpoint(path().string() + "/", "last", false, &notices)) == "300");
  CHECK(notices.empty());
  CHECK(load_checkpoint(path(), "last").optimizer == nullptr);
}

TEST_CASE("what is missing is named, with what is there") {
  SavedRun run("mine-1");
  const auto failure = [&](const fs::path& path, const std::string& which) {
    const auto [code, line] = error_of([&] { load_checkpoint(path, which); });
    return std::to_string(static_cast<int>(code)) + " " + line;
  };
  const std::string path = run.path().string(), parent = run.path().parent_path().string();
  fs::create_directory(run.checkpoints());
  CHECK(failure(run.path(), "best") ==
        "66 " + path + " has no checkpoint yet: none was saved in " + path + "/checkpoints");
  run.save_each({100, 200});
  CHECK(failure(run.path(), "step-150") ==
        "66 " + path + " has no checkpoint step-00000150; there is step-00000100, step-00000200");
  CHECK(failure(parent + "/mine-2", "last") ==
        "66 no run or checkpoint at " + parent + "/mine-2; did you mean " + parent + "/mine-1?");
  CHECK(failure(run.step(200) / "vocab.json", "last") ==
        "65 " + path + "/checkpoints/step-00000200/vocab.json is a file, not a run or checkpoint folder");
  for (const char* which : {"", "worst", "step-", "step--1", "step-1x", "step-99999999999999999999", "../step-1"})
    CHECK(failure(run.path(), which) ==
          "2 checkpoint '" + std::string(which) + "' is not best, last or step-N (as in step-2000)");
}

TEST_CASE_METHOD(TestFolder, "what cannot be looked at is not said to be missing") {
  fs::create_symlink("loop", path() / "loop");
  CHECK(error_of([&] { load_checkpoint(path() / "loop", "last", true); }) ==
        Failure{ExitCode::io, "cannot read " + (path() / "loop").string() + ": Too many levels of symbolic links"});
}

TEST_CASE_METHOD(SavedRun, "the newest `keep` and the best are kept") {
  save(100, true, 2);
  save(200, false, 2);
  save(300, false, 2);
  save(400, false, 2);
  CHECK(names() == Names{"step-00000100", "step-00000300", "step-00000400"});
  save(500, true, 2);
  CHECK(names() == Names{"step-00000400", "step-00000500"});
  save(600, false, 1);
  CHECK(names() == Names{"step-00000500", "step-00000600"});
  save(700, false, 0);  // the one just saved always stays
  CHECK(names() == Names{"step-00000500", "step-00000700"});
}

TEST_CASE_METHOD(SavedRun, "a step that is saved again replaces its files") {
  averages_weights = true;
  save(100);
  averages_weights = false;
  save(100);
  CHECK_FALSE(fs::exists(step(100) / "averaged.safetensors"));
  CHECK(first_weight(load()) == "100");
  CHECK(entries_of(checkpoints()) == Names{"LATEST", "step-00000100"});
}

TEST_CASE_METHOD(SavedRun, "no file of a checkpoint is written through a link, nor a file removed for its folder") {
  save(100);
  write(path() / "elsewhere", "mine");
  const fs::path link = checkpoints() / ".tmp-step-00000200" / "state.json";
  fs::create_directory(link.parent_path());
  fs::create_symlink(path() / "elsewhere", link);
  CHECK(error_of([&] { save(200); }).line == "no checkpoint of step 200: cannot write " + link.string() +
                                                 ": File exists; move whatever has that name elsewhere");
  CHECK(read_file(path() / "elsewhere") == "mine");
  write(checkpoints() / ".tmp-step-00000300", "mine");
  CHECK(error_of([&] { save(300); }).code == ExitCode::io);
  CHECK(read_file(checkpoints() / ".tmp-step-00000300") == "mine");
  CHECK(names() == Names{"step-00000100"});
}

TEST_CASE_METHOD(SavedRun, "a replacement cut short between its two renames loses nothing") {
  save(100);
  fs::rename(step(100), checkpoints() / ".old-step-00000100");  // where names cannot be exchanged
  CHECK(first_weight(load("last")) == "100");
  CHECK(first_weight(load("step-100")) == "100");
  CHECK(names() == Names{".old-step-00000100"});
  save(200, false, 2);
  CHECK(entries_of(checkpoints()) == Names{"LATEST", "step-00000100", "step-00000200"});
  fs::copy(step(100), checkpoints() / ".old-step-00000100");  // cut short before the old one was removed
  CHECK(names() == Names{"step-00000100", "step-00000200"});
  save(300, false, 9);
  CHECK(entries_of(checkpoints()) == Names{"LATEST", "step-00000100", "step-00000200", "step-00000300"});
}

TEST_CASE_METHOD(SavedRun, "a pointer to a checkpoint that is not there gives the newest, with a notice") {
  save_each({100, 200});
  const std::string notice =
      "LATEST of " + checkpoints().string() + " names no checkpoint that is there; using step-00000200, the newest";
  for (const std::string pointer : {"step-00000300\n", "", "/etc/passwd", "../../run/checkpoints/step-00000100\n"}) {
    write(checkpoints() / "LATEST", pointer);
    CHECK(first_weight(load("last")) == "200");
    CHECK(notices == Names{notice});
  }
  write(checkpoints() / "LATEST", std::string(1 << 20, 'x'));
  CHECK(first_weight(load("last")) == "200");
  fs::remove(checkpoints() / "LATEST");  // a crash before the first pointer was written
  CHECK(first_weight(load("last")) == "200");
  CHECK(notices.empty());
}

TEST_CASE_METHOD(SavedRun, "a damaged checkpoint gives way to the newest earlier good one, loudly") {
  save_each({100, 200, 300});
  damage(step(300) / "model.safetensors");
  CHECK(first_weight(load("last")) == "200");
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].starts_with("DAMAGED CHECKPOINT: step-00000300 cannot be used (" +
                               (step(300) / "model.safetensors").string() + " is damaged: its CRC-64 is "));
  CHECK(notices[0].ends_with("; using step-00000200 instead"));
  fs::resize_file(step(200) / "state.json", 10);
  CHECK(first_weight(load("last")) == "100");
  write(step(100) / "MANIFEST.json", "{\"format\":\"chargpt chec");
  CHECK_THAT(message_of(ExitCode::data, [&] { load("last"); }),
             Catch::Contains("; no other checkpoint of " + path().string() + " is whole"));
}

TEST_CASE_METHOD(SavedRun, "before a damaged last an earlier checkpoint stands in, or a later one where none is") {
  save_each({100, 200, 300});
  write(checkpoints() / "LATEST", "step-00000200\n");  // resumed from there
  damage(step(200) / "model.safetensors");
  CHECK(first_weight(load("last")) == "100");
  damage(step(100) / "model.safetensors");
  CHECK(first_weight(load("last")) == "300");
}

TEST_CASE_METHOD(SavedRun, "a damaged best gives way to a later one where there is no earlier") {
  save(100, true, 9);
  save(200, false, 9);
  fs::remove(step(100) / "vocab.json");
  CHECK(first_weight(load("best")) == "200");
  CHECK(notices == Names{"DAMAGED CHECKPOINT: step-00000100 cannot be used (" + (step(100) / "vocab.json").string() +
                         " is missing from the checkpoint); using step-00000200 instead"});
}

TEST_CASE_METHOD(SavedRun, "a checkpoint that was asked for by name is never replaced by another") {
  save_each({100, 200});
  fs::remove(step(200) / "MANIFEST.json");
  CHECK(error_of([&] { load("step-200"); }).code == ExitCode::data);
  CHECK(error_of([&] { load_checkpoint(step(200), "last"); }) ==
        data_error((step(200) / "MANIFEST.json").string() + " is missing, so the checkpoint is not complete"));
}

TEST_CASE_METHOD(SavedRun, "sampling does not need the optimizer's file") {
  save(100);
  fs::remove(step(100) / "optimizer.safetensors");
  CHECK(first_weight(load_checkpoint(path(), "last")) == "100");
  CHECK(error_of([&] { load_checkpoint(path(), "last", true); }).code == ExitCode::data);
}

namespace {

/// Gives a file of a checkpoint other contents, with a manifest that agrees.
void replace(const fs::path& checkpoint, const std::string& name, const std::string& text) {
  write(checkpoint / name, text);
  Manifest manifest = read_manifest(checkpoint);
  manifest[name] = {text.size(), crc64(text)};
  write(checkpoint / "MANIFEST.json", manifest_text(manifest));
}

}  // namespace

TEST_CASE_METHOD(SavedRun, "a checkpoint of a newer program is an error, not a reason to use an older one") {
  save_each({100, 200});
  std::string manifest = read_file(step(200) / "MANIFEST.json");
  manifest.replace(manifest.find("\"version\": 1"), 12, "\"version\": 7");
  write(step(200) / "MANIFEST.json", manifest);
  CHECK(error_of([&] { load("last"); }) ==
        data_error((step(200) / "MANIFEST.json").string() +
                   ": checkpoint format of version 7, made by a newer chargpt; this one reads version 1"));
}

TEST_CASE_METHOD(SavedRun, "files that agree with the manifest are still read strictly") {
  save(100);
  const auto failure = [&] { return message_of(ExitCode::data, [&] { load_checkpoint(step(100), "last", true); }); };
  replace(step(100), "state.json", to_json(state_of(99)).dump());
  CHECK(failure() == (step(100) / "state.json").string() + " is of step 99, its folder of step 100");
  RunState state = state_of(100);
  state.start_symbol = 4;
  replace(step(100), "state.json", to_json(state).dump());
  CHECK(failure() == (step(100) / "state.json").string() + ": start_symbol 4 is none of the 4 symbols");
  save(100);
  replace(step(100), "config.json", R"({"extends":"/etc/hostname"})");
  CHECK(failure() ==
        (step(100) / "config.json").string() + " extends another file; the config of a checkpoint stands alone");
  replace(step(100), "config.json", R"({"model":{"n_layer":0}})");
  CHECK(failure().find("n_layer") != std::string::npos);
  save(100);
  replace(step(100), "vocab.json", R"({"kind":"characters","symbols":["b","a"]})");
  CHECK(failure().find("vocab.json") != std::string::npos);
}

TEST_CASE_METHOD(SavedRun, "the manifest's names are never followed") {
  save(100);
  std::string manifest = read_file(step(100) / "MANIFEST.json");
  const std::string more = "\"../../../secret\": {\"bytes\": 1, \"crc64\": \"0000000000000000\"},\n    \"config.json\"";
  manifest.replace(manifest.find("\"config.json\""), 13, more);
  CHECK_THAT(error_of([&] { parse_manifest(manifest, "MANIFEST.json"); }).line,
             Catch::Contains("MANIFEST.json lists files that are no part of a checkpoint"));
}

TEST_CASE_METHOD(SavedRun, "verify names every file and what is wrong with it") {
  save(100);
  for (const FileReport& report : verify_checkpoint(step(100))) {
    CHECK(report.problem.empty());
    CHECK(report.bytes == fs::file_size(step(100) / report.name));
    CHECK(report.crc64 == crc64(read_file(step(100) / report.name)));
  }
  CHECK(verify_checkpoint(step(100)).size() == 6);
  damage(step(100) / "optimizer.safetensors");
  fs::remove(step(100) / "vocab.json");
  Names damaged;
  for (const FileReport& report : verify_checkpoint(step(100)))
    if (!report.problem.empty()) damaged.push_back(report.name);
  CHECK(damaged == Names{"optimizer.safetensors", "vocab.json"});
  write(step(100) / "MANIFEST.json", "");
  REQUIRE(verify_checkpoint(step(100)).size() == 1);
  CHECK_FALSE(verify_checkpoint(step(100))[0].problem.empty());
  CHECK(error_of([&] { verify_checkpoint(step(200)); }).code == ExitCode::io);
}

TEST_CASE_METHOD(SavedRun, "verify looks into every file that agrees with the manifest") {
  averages_weights = true;
  for (const char* name : {model_file, averaged_file, optimizer_file, state_file, vocabulary_file, config_file}) {
    save(100);
    replace(step(100), name, "[]");
    Names damaged;
    for (const FileReport& report : verify_checkpoint(step(100)))
      if (!report.problem.empty()) damaged.push_back(report.name);
    CHECK(damaged == Names{name});
  }
}

TEST_CASE_METHOD(SavedRun, "averaged weights are a file of the checkpoint where there are any") {
  averages_weights = true;
  const fs::path folder = save(7);
  const Checkpoint loaded = load_checkpoint(path(), "last");
  REQUIRE(loaded.averaged);
  CHECK(loaded.averaged->find("w")->bytes[3] == std::byte{0x3F});  // 0.5f
  CHECK(loaded.model->find("w")->bytes[3] == std::byte{0x40});     // 7.0f
  CHECK(verify_checkpoint(folder).size() == 7);
}

TEST_CASE_METHOD(SavedRun, "what was loaded stays as it was, whatever becomes of its files") {
  const fs::path saved = save(100);
  const Checkpoint loaded = load();
  const std::string before = contents(loaded);
  std::ofstream(saved / model_file, std::ios::binary | std::ios::in) << std::string(50, 'x');  // in place
  CHECK(contents(loaded) == before);
  fs::resize_file(saved / model_file, 0);
  fs::resize_file(saved / optimizer_file, 10);
  CHECK(contents(loaded) == before);
  CHECK_THAT(error_of([&] { load(); }).line, Catch::Contains("is damaged: it has 0 bytes"));
}

TEST_CASE_METHOD(SavedRun, "the parent of a link is the system's, not the name before it") {
  save(100);
  const TestFolder folder;
  fs::create_directories(folder / "far/away");
  fs::create_directory_symlink(folder / "far/away", folder / "link");
  fs::copy(path(), folder / "far/y", fs::copy_options::recursive);
  CHECK(load_checkpoint(folder / "link/../y", "last").state.step == 100);
  CHECK(error_of([&] { load_checkpoint(folder / "y", "last"); }).code == ExitCode::missing);
}
