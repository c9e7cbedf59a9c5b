// metrics.jsonl read while it grows, and what its rows tell of a run.
#include "report/charts/run_curves.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/quote.h"
#include "report/files/metrics.h"
#include "test_folder.h"

using namespace chargpt;
using Row = nlohmann::ordered_json;

namespace {

Row train_row(int step, double loss) {
  return {{"kind", "train"},       {"step", step},         {"loss", loss}, {"tokens_per_second", 100.0},
          {"share", step / 100.0}, {"seconds", step * 0.5}};
}

Row eval_row(int step, double val_loss, double best) {
  return {{"kind", "eval"},        {"step", step},  {"val_loss", val_loss}, {"best", val_loss == best},
          {"best_val_loss", best}, {"exact", true}, {"seconds", step * 0.5}};
}

/// A file, its reader, and the steps that this told since the file began.
struct Reading : TestFolder {
  void append(const std::string& text) const { std::ofstream(file, std::ios::app) << text; }
  const std::vector<int>& read() {
    reader.read([&] { steps.clear(); }, [&](const Row& row) { steps.push_back(row["step"].get<int>()); });
    return steps;
  }
  const fs::path file = path() / "metrics.jsonl";
  MetricsReader reader{file};
  std::vector<int> steps;
};

}  // namespace

TEST_CASE_METHOD(Reading, "rows are told once, and a half-written line when it is whole") {
  CHECK(read().empty());  // not there yet
  append(train_row(1, 2).dump() + "\n" + train_row(2, 2).dump().substr(0, 9));
  CHECK(read() == std::vector<int>{1});
  append(train_row(2, 2).dump().substr(9) + "\n");
  CHECK(read() == std::vector<int>{1, 2});
  CHECK(read() == std::vector<int>{1, 2});
  append(std::string(std::size_t{4} << 20, 'x'));
  CHECK_THROWS_WITH(read(), Catch::Contains("line 3 is longer than 4194304 bytes, so it is not a metrics file"));
}

TEST_CASE_METHOD(Reading, "a file written anew is read from its beginning, and the beginning of a line forgotten") {
  append(train_row(1, 2).dump() + "\n" + train_row(2, 2).dump().substr(0, 9));
  CHECK(read() == std::vector<int>{1});
  write_file_atomically(file, train_row(3, 2).dump() + "\n");
  CHECK(read() == std::vector<int>{3});
  CHECK(reader.complaint().empty());
  write_file_atomically(file, "{broken\n" + train_row(4, 2).dump() + "\n");
  CHECK(read() == std::vector<int>{4});
  CHECK(reader.complaint() == file.string() + ": skipped 1 malformed line (first: line 1)");
}

TEST_CASE_METHOD(RunCurves, "the rows tell where a run is") {
  add({{"kind", "plan"}, {"step", 0}, {"max_iters", 100}, {"leaks", false}});
  add(train_row(10, 3));
  add(train_row(30, 3));
  add(eval_row(30, 2.5, 2.5));
  add(eval_row(40, 2.75, 2.5));
  CHECK(joined(status.parts(), "|") == "step 40 of 100|loss 3.0000|35 s left|best val 2.5000|100 tokens/s");
  add({{"kind", "end"}, {"step", 50}, {"ended", "patience"}, {"max_iters", 100}, {"seconds", 9.0}});
  CHECK(joined(status.parts(true), "|") == "step 50 of 100|loss 3.0000|after 9.0 s|best val 2.5000|100 tokens/s");
  CHECK(end.ended == Ending::patience);
  CHECK(end.max_iters == 100);
  add({{"kind", "plan"}, {"step", 50}, {"max_iters", 200}});
  CHECK(end.ended == Ending::unknown);
}

TEST_CASE_METHOD(RunCurves, "the time left is estimated from the steps of the process that continues the run") {
  add({{"kind", "plan"}, {"step", 0}, {"max_iters", 100}});
  add(train_row(10, 3));
  add(train_row(30, 2));
  add({{"kind", "plan"}, {"step", 30}, {"max_iters", 100}});
  CHECK_FALSE(std::isfinite(status.seconds_left()));
  Row slow = train_row(40, 2), slower = train_row(50, 2);
  slow["seconds"] = 40.0;
  slower["seconds"] = 60.0;
  add(slow);
  CHECK_FALSE(std::isfinite(status.seconds_left()));
  add(slower);
  CHECK(status.seconds_left() == Approx(2 * 50));  // 20 s for ten steps
}

TEST_CASE_METHOD(RunCurves, "foreign rows, and losses that no curve can show, change nothing") {
  add({{"kind", "train"}, {"step", "ten"}, {"loss", 1}});
  add({{"kind", "train"}, {"step", -3}, {"loss", 1}});
  add({{"kind", "train"}, {"step", 1e300}, {"loss", 1}});
  add({{"kind", "comment"}, {"step", 5}, {"loss", 1}});
  CHECK(status.step == 0);
  add({{"kind", "train"}, {"step", 1}, {"loss", nullptr}});
  add({{"kind", "eval"}, {"step", 1}, {"val_loss", 1e300}});
  CHECK(train.empty());
  CHECK(val.empty());
  CHECK(joined(status.parts(), "|").find("loss") == std::string::npos);
}
