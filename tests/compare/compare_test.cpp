// A comparison before anything trains: its runs, their folders and text. Trainings: tests/cli/test_compare.py.
#include "compare/compare.h"

#include "failure.h"
#include "test_folder.h"

namespace chargpt {
namespace {

struct Configs : TestFolder {
  const std::string text = write("text", std::string(400, 'a') + std::string(400, 'b'));

  Variant variant(const std::string& name, const std::string& train = "", const std::string& data = "") const {
    Variant made{parse_config("{\"model\": {\"type\": \"bigram\", \"block_size\": 64}, \"train\": {\"batch_size\": 2" +
                                  (train.empty() ? "" : ", " + train) + "}, \"data\": {" + data + "}}",
                              name, {})};
    made.options.config.name = name;
    if (data.find("text") == data.npos) made.options.config.data.text = {text};
    return made;
  }
  Failure refusal(const Variant& second) const {
    return error_of([&] { common_text({variant("a"), second}, path() / "out", {}); });
  }
};

}  // namespace

TEST_CASE_METHOD(Configs,
                 "runs are planned seed by seed, with the first config's seed in place of every config's own") {
  const auto runs = planned_runs({variant("ladder/a", R"("seed": 50)"), variant("b c", R"("seed": 7)")}, 2, "out");
  REQUIRE(runs.size() == 4);
  CHECK(run_heading(runs[0]) == "run 1 of 4: ladder/a, seed 50");
  CHECK(run_heading(runs[3]) == "run 4 of 4: b c, seed 51");
  CHECK(runs[1].options.config.train.seed == 50);
  CHECK(runs[2].folder == "out/ladder-a-seed51");
  CHECK(runs[3].folder == "out/b-c-seed51");
  CHECK(runs[3].config == 1);
  CHECK(runs[2].replays.empty());
}

TEST_CASE_METHOD(Configs, "under a clock later seeds replay the config's first, and runs train one after the other") {
  const std::vector<Variant> variants{variant("a", R"("max_seconds": 7)"), variant("b")};
  const auto runs = planned_runs(variants, 3, "out");
  CHECK(runs[0].replays.empty());
  CHECK(runs[2].replays == "out/a-seed1337");
  CHECK(runs[4].replays == "out/a-seed1337");
  CHECK(runs[3].replays.empty());  // b has no clock
  CHECK_THAT(message_of(ExitCode::usage, [&] { check_jobs(variants, 2); }),
             Catch::Contains("--jobs 2 cannot be combined with train.max_seconds = 7.0 of a"));
}

TEST_CASE_METHOD(Configs, "configs of different texts, units or splits do not compare") {
  const std::string other = write("other", std::string(400, 'b') + std::string(400, 'a')),
                    copy = write("copy", std::string(400, 'a') + std::string(400, 'b'));
  const Failure refused = refusal(variant("b", "", "\"text\": \"" + other + "\""));
  CHECK(refused.code == ExitCode::usage);
  CHECK_THAT(refused.line, Catch::Contains("configs a and b differ in their text (data.text"));
  CHECK(refusal(variant("b", "", R"("val_fraction": 0.2)")).code == ExitCode::usage);
  CHECK(refusal(variant("b", "", R"("units": "bytes")")).code == ExitCode::usage);
  CHECK(refusal(variant("b", "", "\"text\": \"" + copy + "\"")) == Failure{});  // the same characters in another file
}

}  // namespace chargpt
