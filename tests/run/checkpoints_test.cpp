// Checkpoints as a user meets them: saved, chosen, kept, copied, damaged.
#include "run/checkpoints.h"
#include "run/run_files.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "failure.h"
#include "saved_run.h"

using namespace chargpt;

namespace {

std::string first_weight(const Checkpoint& checkpoint) {
  float value = 0;
  std::memcpy(&value, find_tensor(checkpoint.model, "w")->bytes.data(), sizeof value);
  return std::to_string(static_cast<int>(value));
}

/// Changes one byte in place, as a failing disk would.
void put_byte(const fs::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at)).put(byte);
  REQUIRE(file.flush().good());
}

/// Damages the last weight of a file without averages; six moments come after it.
void damage(const fs::path& path) {
  put_byte(path, fs::file_size(path) - 6 * sizeof(float) - 1, 'x');
}

struct ThreeSaved : SavedRun {
  ThreeSaved() {
    mark_run(path());
    save_with_loss(100, 2.5);
    save_with_loss(200, 2.0);
    save_with_loss(300, 2.25);
  }
  static std::string said(const Checkpoint& loaded) { return to_text(loaded.state.step, loaded.standing); }
  std::string said(const std::string& which) { return said(load(which)); }
};

}  // namespace

TEST_CASE_METHOD(SavedRun, "a checkpoint comes back as it was saved") {
  averages_weights = true;
  const fs::path path = save(500, true);
  CHECK(entries_of(checkpoints()) == Names{"step-00000500.safetensors"});
  const Checkpoint checkpoint = load();
  CHECK(notices.empty());
  CHECK(checkpoint.path == path);
  RunState state = state_of(500);
  state.val_loss = state.best_val_loss = 1.875;
  state.best_step = 500;
  CHECK(to_json(checkpoint.state) == to_json(state));
  CHECK(checkpoint.vocabulary == vocabulary());
  CHECK(to_json(checkpoint.config) == to_json(config()));
  CHECK(first_weight(checkpoint) == "500");
  CHECK(find_tensor(checkpoint.averaged, "w")->bytes[3] == std::byte{0x3F});  // 0.5f
  CHECK(find_tensor(checkpoint.optimizer, "m")->shape == std::vector<std::int64_t>{2, 3});
  CHECK(load_checkpoint(path, "last").optimizer.empty());
  Names stored;
  for (const TensorView& tensor : checkpoint.file.tensors) stored.push_back(tensor.name);
  CHECK(stored == Names{"w", "averaged.w", "optimizer.m"});
}

TEST_CASE_METHOD(ThreeSaved, "best, last, a step and a file are found") {
  CHECK(first_weight(load("best")) == "200");
  CHECK(first_weight(load("last")) == "300");
  CHECK(first_weight(load("step-100")) == "100");
  CHECK(first_weight(load("step-00000100")) == "100");
  CHECK(first_weight(load_checkpoint(step(100), "last")) == "100");
  CHECK(first_weight(load_checkpoint(path().string() + "/", "last")) == "300");
  CHECK(notices.empty());
}

TEST_CASE_METHOD(ThreeSaved, "a copied file is a checkpoint anywhere, under any name") {
  const TestFolder folder;
  fs::copy(step(100), folder / "mine.safetensors");
  const Checkpoint copy = load_checkpoint(folder / "mine.safetensors", "best", true);
  CHECK(first_weight(copy) == "100");
  CHECK_FALSE(copy.optimizer.empty());
  CHECK(copy.config.config.data.text == Strings{"tinyshakespeare.txt"});  // the name alone
  CHECK(copy.config.config.train.teacher == Strings{"big"});
  CHECK(load("step-100").config.config.data.text == Strings{"data/tinyshakespeare.txt"});
  CHECK(load("step-100").config.config.train.teacher == Strings{"runs/big"});
  CHECK(said(copy) == "step 100");
  fs::copy(step(100), folder / "step-00000200.safetensors");
  CHECK(error_of([&] { load_checkpoint(folder / "step-00000200.safetensors", "best"); }) ==
        data_error((folder / "step-00000200.safetensors").string() +
                   " is of step 100, which is not the step of its name"));
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
  CHECK(failure(run.path(), "step-0") ==
        "66 " + path + " has no checkpoint step-00000000; there is step-00000100, step-00000200");
  CHECK(failure(parent + "/mine-2", "last") == "66 no run or checkpoint at " + parent + "/mine-2");
  for (const char* which : {"", "worst", "step-", "step--1", "step-1x", "step-99999999999999999999", "../step-1"})
    CHECK(failure(run.path(), which) ==
          "2 checkpoint '" + std::string(which) + "' is not best, last or step-N (as in step-2000)");
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

TEST_CASE("a checkpoint's loss is the lower of its two, if it is a number") {
  RunState state;
  CHECK(std::isinf(evaluated_loss(state)));
  state.val_loss = std::nan("");
  CHECK(std::isinf(evaluated_loss(state)));
  state.averaged_val_loss = 1.5;
  CHECK(evaluated_loss(state) == 1.5);
  state.val_loss = 1.25;
  CHECK(evaluated_loss(state) == 1.25);
}

TEST_CASE_METHOD(ThreeSaved, "if the best is missing, the best of the others is used, with a notice") {
  fs::remove(step(200));
  CHECK(first_weight(load("best")) == "300");
  CHECK(notices ==
        Names{"the best checkpoint of " + path().string() +
              ", step-00000200 with a validation loss of ≈2.0000, is missing or damaged; using step-00000300 "
              "with ≈2.2500"});
}

TEST_CASE_METHOD(SavedRun, "of equal losses the first is the best, kept and loaded") {
  for (const std::int64_t step : {100, 200, 300}) save_with_loss(step, 2.5, /*keep=*/1);
  CHECK(names() == Names{"step-00000100", "step-00000300"});
  CHECK(first_weight(load("best")) == "100");
}

TEST_CASE_METHOD(SavedRun, "without an evaluation the last stands for the best, with a notice") {
  save_each({50, 60});
  CHECK(first_weight(load("best")) == "60");
  CHECK(notices == Names{"no checkpoint of " + path().string() +
                         " has a loss below that of guessing or of its start; using the last"});
}

TEST_CASE_METHOD(ThreeSaved, "a checkpoint is told apart from the best and the last") {
  save(1234, /*best=*/false, /*keep=*/9);
  CHECK(said("best") == "step 200, the best; the last is step 1,234");
  CHECK(said("last") == "step 1,234, the last; the best is step 200");
  save_with_loss(2000, std::nan(""));  // a loss that is not a number was measured too
  CHECK(said("last") == "step 2,000, the last; the best is step 200");
}

TEST_CASE_METHOD(SavedRun, "a damaged checkpoint gives way to the newest good one, loudly") {
  save_each({100, 200, 300});
  damage(step(300));
  CHECK(first_weight(load("last")) == "200");
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].starts_with("DAMAGED CHECKPOINT: step-00000300 cannot be used (" + step(300).string() +
                               " is damaged: its checksum crc_read is "));
  CHECK(notices[0].ends_with("; using step-00000200 instead"));
  fs::resize_file(step(200), 10);
  CHECK(first_weight(load("last")) == "100");
  fs::resize_file(step(100), 0);
  CHECK_THAT(message_of(ExitCode::data, [&] { load("last"); }),
             Catch::Contains("; no other checkpoint of " + path().string() + " is whole"));
}

TEST_CASE_METHOD(ThreeSaved, "a checkpoint that was asked for by name is never replaced by another") {
  damage(step(200));
  CHECK(error_of([&] { load("step-200"); }).code == ExitCode::data);
  CHECK(error_of([&] { load_checkpoint(step(200), "last"); }).code == ExitCode::data);
}

namespace {

/// Gives a file other metadata, with checksums that agree.
void rewrite(const fs::path& path, const std::string& name, const std::string& text) {
  const SafetensorsFile file = read_safetensors(path);
  std::map<std::string, std::string> metadata = file.metadata;
  metadata[name] = text;
  const std::string header = checked_header(file.tensors, metadata);
  write_file_atomically(path, header + read_file(path).substr(file.start.size()));
}

}  // namespace

TEST_CASE_METHOD(ThreeSaved, "a checkpoint of a newer program is an error, not a reason to use an older one") {
  rewrite(step(300), "chargpt", "7");
  CHECK(error_of([&] { load("last"); }) ==
        data_error(step(300).string() + ": format 7, made by a newer chargpt; this one reads format 1"));
}

TEST_CASE_METHOD(SavedRun, "metadata with the right checksum is still read strictly") {
  const auto failure = [&](const std::string& name, const std::string& text) {
    save(100);
    rewrite(step(100), name, text);
    return message_of(ExitCode::data, [&] { load_checkpoint(step(100), "last", true); });
  };
  const std::string file = step(100).string();
  CHECK(failure("state", to_json(state_of(99)).dump()) == file + " is of step 99, which is not the step of its name");
  RunState state = state_of(100);
  state.start_symbol = 4;
  CHECK(failure("state", to_json(state).dump()) == file + ": start_symbol 4 is not one of the 4 symbols");
  CHECK(failure("config", R"({"extends":"/etc/hostname"})") ==
        file + ": config:1: the config of a run must be complete, and this one extends \"/etc/hostname\"");
  CHECK_THAT(failure("config", R"({"model":{"n_layer":0}})"), Catch::Contains("n_layer"));
  CHECK_THAT(failure("config", R"({"train":{"max_seconds":9}})"), Catch::Contains("clock.shares is missing"));
  CHECK_THAT(failure("chargpt", "0"), Catch::Contains("unknown format '0'"));
  state = state_of(100);
  state.training_seconds = -1;
  CHECK(failure("state", to_json(state).dump()) == file + ": the run cannot have taken -1 s");
  CHECK_THAT(failure("config", R"({"data":{"documents":"lines"}})"), Catch::Contains("has no id between documents"));
  CHECK_THAT(failure("vocabulary", R"({"kind":"characters","symbols":["b","a"]})"), Catch::Contains(": vocabulary"));
  CHECK_THAT(failure("state", R"({"step":1,"step":1})"), Catch::Contains("given twice"));
}

TEST_CASE_METHOD(SavedRun, "the shares of a run under a clock are one for each update, from 0 to 1") {
  RunState state = state_of(2);
  const auto saved_and_loaded = [&](const std::vector<float>& shares) {
    state.shares = shares;
    save_state(state, 1);
    return load("step-2").state.shares;
  };
  CHECK(saved_and_loaded({0, 1}) == std::vector<float>{0, 1});
  for (const std::vector<float>& wrong : {std::vector<float>{0, 1.5F}, {0}})
    CHECK_THAT(message_of(ExitCode::data, [&] { saved_and_loaded(wrong); }), Catch::Contains("clock.shares"));
}

TEST_CASE_METHOD(SavedRun, "safetensors files of other programs are not checkpoints") {
  write_file_atomically(path() / "model.safetensors", safetensors_bytes({}, {{"by", "others"}}));
  CHECK(error_of([&] { load_checkpoint(path() / "model.safetensors", "last"); }) ==
        data_error((path() / "model.safetensors").string() +
                   " is not a chargpt file of this kind: its metadata has no 'chargpt'"));
}

TEST_CASE_METHOD(SavedRun, "what was loaded stays as it was, whatever becomes of its file") {
  const fs::path saved = save(100);
  const Checkpoint loaded = load();
  const std::string whole(fs::file_size(saved), 'x');
  std::ofstream(saved, std::ios::binary | std::ios::in) << whole;  // in place
  CHECK(first_weight(loaded) == "100");
  fs::resize_file(saved, 0);
  CHECK(first_weight(loaded) == "100");
}

TEST_CASE_METHOD(SavedRun,
                 "damage to any byte, and every truncation, is found; without the optimizer, in what is read") {
  averages_weights = true;
  const fs::path file = save(100);
  const std::string bytes = read_file(file);
  const std::size_t optimizer = bytes.size() - 6 * sizeof(float), all = bytes.find("\"crc_all\"");
  const auto refused = [&](bool whole) {
    const auto [code, line] = error_of([&] { read_checkpoint(file, whole); });
    CHECK((code == ExitCode::ok || line.find(file.string()) != std::string::npos));
    return code == ExitCode::data;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    CAPTURE(at);
    put_byte(file, at, static_cast<char>(bytes[at] ^ (1 << (at % 8))));
    CHECK(refused(/*whole=*/true));
    const bool in_sum_of_all = at >= all + 11 && at < all + 19;
    if (!in_sum_of_all) CHECK(refused(/*whole=*/false) == (at < optimizer));
    put_byte(file, at, bytes[at]);
  }
  for (std::size_t size = bytes.size(); size-- > 0;) {
    CAPTURE(size);
    fs::resize_file(file, size);
    CHECK(refused(/*whole=*/true));
  }
}

TEST_CASE_METHOD(WorkingFolder, "figures are those of the one checkpoint whose step they name") {
  write("run.json", R"({"format": "chargpt run", "version": 1, "figures": {"loss": 1.5, "checkpoint": {"step": 4}}})");
  const auto figures_at = [&](std::int64_t step) {
    Checkpoint checkpoint;
    checkpoint.path = path() / "checkpoints/step-00000004.safetensors";
    checkpoint.state.step = step;
    return kept_figures(checkpoint);
  };
  CHECK(figures_at(4).value("loss", 0.0) == 1.5);
  CHECK(figures_at(2).is_null());
  Checkpoint elsewhere;
  elsewhere.state.step = 4;
  elsewhere.path = write("copy.safetensors");
  CHECK(kept_figures(elsewhere).is_null());  // the working folder is a run, and not its own
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
