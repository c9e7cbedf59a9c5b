// Small files of a run: they come back as they were kept, and are hostile until read.
#include "run/kept_files.h"

#include "base/files.h"
#include "run/run_files.h"
#include "test_folder.h"

namespace chargpt {
namespace {

TEST_CASE_METHOD(TestFolder, "each score of a run's test split is counted, and a folder that is no run keeps none") {
  CHECK(count_test_score(path()) == 0);
  CHECK_FALSE(std::filesystem::exists(path() / "test.json"));
  mark_run(path());
  CHECK(test_scores(path()) == 0);
  for (const std::int64_t times : {1, 2, 3}) CHECK(count_test_score(path()) == times);
  CHECK(test_scores(path()) == 3);
}

TEST_CASE_METHOD(TestFolder, "a damaged count of test scores is an error that names the file, and stays as it is") {
  mark_run(path());
  for (const std::string text :
       {"", "[]", R"({"format": "chargpt test scores", "version": 1, "times": 0})",
        R"({"format": "chargpt test scores", "version": 1, "times": 1.5})",
        R"({"format": "another", "version": 1, "times": 1})", R"({"format": "chargpt test scores", "version": 1})",
        R"({"format": "chargpt test scores", "version": 2, "times": 1})"}) {
    const std::filesystem::path file = write("test.json", text);
    INFO(text);
    CHECK_THROWS_WITH(count_test_score(path()), Catch::Contains("test.json"));
    CHECK(read_file(file) == text);
  }
}

TEST_CASE_METHOD(TestFolder, "figures are those of the one checkpoint whose step they name") {
  write("figures.json", R"({"loss": 1.5, "checkpoint": {"step": 4}})");
  const auto figures_at = [&](std::int64_t step) {
    Checkpoint checkpoint;
    checkpoint.path = path() / "checkpoints/step-00000004";
    checkpoint.state.step = step;
    return kept_figures(checkpoint);
  };
  CHECK(figures_at(4).value("loss", 0.0) == 1.5);
  CHECK(figures_at(2).is_null());
}

}  // namespace
}  // namespace chargpt
