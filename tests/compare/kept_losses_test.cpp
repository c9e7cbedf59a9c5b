// Losses on disk: as written when read, never trusted when damaged.
#include "compare/planned_run.h"

#include "base/files.h"
#include "test_folder.h"

namespace chargpt {
namespace {

KeptRun example() {
  KeptRun kept;
  kept.seed = {.seed = 1338, .loss = 2.25, .seconds = 1.5, .tokens_per_second = 1000, .step = 7};
  kept.seed.losses = {1.0f, 2.5f, 3.25f};
  kept.params = 99;
  kept.block_size = 8;
  kept.leaks = true;
  kept.text = {.tokens = 40, .crc64 = 0xFEDCBA9876543210};
  return kept;
}

std::string problem_of(const std::filesystem::path& run) {
  std::string problem;
  CHECK_FALSE(kept_losses(run, problem));
  return problem;
}

}  // namespace

TEST_CASE_METHOD(TestFolder, "kept losses come back as they were") {
  keep_losses(path(), example());
  std::string problem;
  const auto kept = kept_losses(path(), problem);
  REQUIRE(kept);
  CHECK(problem.empty());
  CHECK(kept->seed.losses == example().seed.losses);
  CHECK(kept->seed.seed == 1338);
  CHECK(kept->seed.loss == 2.25);
  CHECK(kept->seed.seconds == 1.5);
  CHECK(kept->seed.tokens_per_second == 1000);
  CHECK(kept->seed.step == 7);
  CHECK(kept->seed.run == path());
  CHECK(kept->params == 99);
  CHECK(kept->block_size == 8);
  CHECK(kept->leaks);
  CHECK(kept->text == example().text);
  CHECK_FALSE(kept->seed.test_loss);
  KeptRun tested = example();
  tested.seed.test_loss = 2.5;
  keep_losses(path(), tested);
  CHECK(kept_losses(path(), problem)->seed.test_loss == 2.5);
}

TEST_CASE_METHOD(TestFolder, "the losses are plain little-endian float32 in the order of the text") {
  keep_losses(path(), example());
  using namespace std::string_literals;
  CHECK(read_file(path() / "val_losses.f32") == "\0\0\x80\x3F\0\0\x20\x40\0\0\x50\x40"s);
}

TEST_CASE_METHOD(TestFolder, "a folder without kept losses is no problem") {
  CHECK(problem_of(path()).empty());
}

TEST_CASE_METHOD(TestFolder, "damaged losses are named, not used") {
  keep_losses(path(), example());
  const std::string losses = read_file(path() / "val_losses.f32"), header = read_file(path() / "val_losses.json");
  const auto with = [&](const std::string& new_losses, const std::string& new_header) {
    write("val_losses.f32", new_losses);
    write("val_losses.json", new_header);
    return problem_of(path());
  };
  CHECK_FALSE(with(losses.substr(0, 8), header).empty());
  CHECK_FALSE(with(losses + "x", header).empty());
  std::string flipped = losses;
  flipped[0] = 'X';
  CHECK_FALSE(with(flipped, header).empty());
  CHECK_FALSE(with(losses, "").empty());
  CHECK_FALSE(with(losses, "[]").empty());
  CHECK_FALSE(with(losses, "{}").empty());
  CHECK_FALSE(with(losses, header.substr(0, header.size() / 2)).empty());
  std::string count = header;
  count.replace(count.find("\"count\": 3"), 10, "\"count\": 18446744073709551615");
  CHECK_FALSE(with(losses, count).empty());
  std::string newer = header;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  CHECK_FALSE(with(losses, newer).empty());
  std::filesystem::remove(path() / "val_losses.f32");
  write("val_losses.json", header);
  CHECK_FALSE(problem_of(path()).empty());
}

}  // namespace chargpt
