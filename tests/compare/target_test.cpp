// When runs first had a loss at or under a target, as their metrics.jsonl has it.
#include "base/error.h"
#include "base/files.h"
#include "compare/comparison_report.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

const std::string end_of_line = "\n";
const std::string rows =
    R"({"kind":"plan","parameters":1234}
{"kind":"eval","step":0,"val_loss":4.2,"seconds":0.5}
{"kind":"train","step":10,"loss":1.0}
{"kind":"eval","step":10,"val_loss":2.1,"averaged_val_loss":2.5,"seconds":3.0}
{"kind":"eval","step":20,"val_loss":2.05,"averaged_val_loss":1.9,"seconds":5.0}
{"kind":"eval","step":30,"val_loss":1.8,"seconds":7.0}
)";

/// A comparison of one run whose target is a loss of 2.
Comparison compared(const std::filesystem::path& run, const std::string& failure = "") {
  Comparison comparison;
  comparison.results.emplace_back().seeds.emplace_back().run = run;
  comparison.results[0].seeds[0].failure = failure;
  find_target(comparison, 2);
  return comparison;
}

/// When a run of these metrics reached the target.
std::optional<ReachedTarget> reached(const std::string& metrics, const std::string& failure = "") {
  const TestFolder folder;
  write_file_atomically(folder.path() / "metrics.jsonl", metrics);
  return compared(folder.path(), failure).results[0].seeds[0].reached;
}

}  // namespace

TEST_CASE("the first evaluation at or under the target counts, of trained or averaged weights") {
  CHECK(reached(rows).value().step == 20);
  CHECK(reached(R"({"kind":"eval","step":0,"val_loss":2.0,"seconds":3.0})" + end_of_line).value().step == 0);
}

TEST_CASE("a run that never reaches the target, or whose line is still being written, has no time") {
  CHECK_FALSE(reached(R"({"kind":"eval","step":10,"val_loss":2.1,"seconds":3.0})" + end_of_line));
  CHECK_FALSE(reached(R"({"kind":"eval","step":10,"val_loss":1.1,"seconds":3.0})"));
}

TEST_CASE("a run that failed has not reached the target, whatever it was evaluated at before") {
  CHECK_FALSE(reached(rows, "training diverged"));
}

TEST_CASE_METHOD(TestFolder, "of a checkpoint outside its run it is unknown whether it reached the target") {
  write("lone.safetensors", "");
  const Report report = report_of(compared(path() / "lone.safetensors"));
  CHECK(report.json["results"][0]["seeds_reached"].is_null());
  CHECK_THAT(part_text(report.parts().back(), 0), Catch::Contains("unknown"));
}

TEST_CASE("an evaluation of a part of the windows and a line that is no row are refused") {
  CHECK_THROWS_WITH(reached(R"({"kind":"eval","step":1,"val_loss":1.0,"exact":false})" + end_of_line),
                    Catch::Contains("this run evaluated only a part of it"));
  CHECK_FALSE(reached(R"({"kind":"eval","step":"ten","val_loss":1.0})" + end_of_line));
  CHECK_THROWS_WITH(reached("half a ro\n"), Catch::Contains("skipped 1 malformed line (first: line 1)"));
}

TEST_CASE("steps and seconds to the target are means over the seeds") {
  Comparison comparison{.target = 2};
  ConfigRuns& runs = comparison.results.emplace_back();
  runs.config = "a";
  runs.seeds = {{.seed = 1, .reached = ReachedTarget{10, 3}}, {.seed = 2, .reached = ReachedTarget{20, 6}}};
  CHECK(part_text(report_of(comparison).parts().back(), 0) ==
        "config  reached 2.0000  steps  seconds\n"
        "a               2 of 2     15      4.5\n");
}
