// metrics.jsonl read while it grows, and what its rows tell of a run.
#include "report/charts/run_curves.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "report/files/metrics.h"
#include "test_folder.h"

using namespace chargpt;
using Row = nlohmann::ordered_json;

namespace {

Row train(int step, double loss) {
  return {{"kind", "train"},       {"step", step},         {"loss", loss}, {"tokens_per_second", 100.0},
          {"share", step / 100.0}, {"seconds", step * 0.5}};
}

Row eval(int step, double val_loss, bool best = true) {
  return {{"kind", "eval"},       {"step", step}, {"train_loss", 1.0},
          {"val_loss", val_loss}, {"best", best}, {"seconds", step * 0.5}};
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
  append(train(1, 2).dump() + "\n" + train(2, 2).dump().substr(0, 9));
  CHECK(read() == std::vector<int>{1});
  append(train(2, 2).dump().substr(9) + "\n");
  CHECK(read() == std::vector<int>{1, 2});
  CHECK(read() == std::vector<int>{1, 2});
  CHECK(reader.complaint().empty());
}

TEST_CASE_METHOD(Reading, "a file written anew is read from its beginning") {
  write_file_atomically(file, train(1, 2).dump() + "\n" + train(2, 2).dump() + "\n");
  CHECK(read() == std::vector<int>{1, 2});
  write_file_atomically(file, train(1, 2).dump() + "\n");
  CHECK(read() == std::vector<int>{1});
  write_file_atomically(file, "{broken\n" + train(3, 2).dump() + "\n");
  CHECK(read() == std::vector<int>{3});
  CHECK(reader.complaint() == file.string() + ": skipped 1 malformed line (first: line 1)");
}

TEST_CASE_METHOD(Reading, "the beginning of a line is forgotten where the file is written anew") {
  append(train(1, 2).dump() + "\n" + train(2, 2).dump().substr(0, 9));
  CHECK(read() == std::vector<int>{1});
  write_file_atomically(file, train(3, 2).dump() + "\n");
  CHECK(read() == std::vector<int>{3});
  CHECK(reader.complaint().empty());
}

TEST_CASE_METHOD(RunCurves, "the curves say where a run stands") {
  add({{"kind", "plan"}, {"step", 0}, {"max_iters", 100}, {"leaks", false}});
  add(train(10, 3));
  add(train(30, 2));
  add(eval(30, 2.5));
  add(eval(40, 2.75, false));
  CHECK(step() == 40);
  CHECK(max_iters() == 100);
  CHECK(best_val_loss() == 2.5);
  CHECK(best_step() == 30);
  CHECK(tokens_per_second() == Approx(100));
  CHECK(*seconds_left() == Approx(0.5 * 70));  // since step 30
  CHECK(end().ended == Ending::unknown);
  Row averaged = eval(50, 2.75);
  averaged["averaged_val_loss"] = 2.25;
  add(averaged);
  CHECK(best_val_loss() == 2.25);
  CHECK(best_step() == 50);
}

TEST_CASE_METHOD(RunCurves, "the time left is told by the steps of the process that goes on") {
  add({{"kind", "plan"}, {"step", 0}, {"max_iters", 100}});
  add(train(10, 3));
  add(train(30, 2));
  add({{"kind", "plan"}, {"step", 30}, {"max_iters", 100}});
  CHECK_FALSE(seconds_left());
  Row slow = train(40, 2), slower = train(50, 2);
  slow["seconds"] = 40.0;
  slower["seconds"] = 60.0;
  add(slow);
  add(slower);
  CHECK(*seconds_left() == Approx(2 * 50));  // 20 s for ten steps
}

TEST_CASE_METHOD(RunCurves, "where no row tells the share of the run, no time is left") {
  for (Row row : {train(10, 3), train(20, 2)}) {
    row.erase("share");
    add(row);
  }
  CHECK(max_iters() == 0);
  CHECK_FALSE(seconds_left());
}

TEST_CASE_METHOD(RunCurves, "an end counts until the run goes on") {
  add({{"kind", "end"}, {"step", 50}, {"ended", "patience"}, {"max_iters", 100}, {"seconds", 9.0}});
  CHECK(end().ended == Ending::patience);
  CHECK(end().max_iters == 100);
  add({{"kind", "plan"}, {"step", 50}, {"max_iters", 200}});
  CHECK(end().ended == Ending::unknown);
}

TEST_CASE_METHOD(RunCurves, "a run that went back has one curve") {
  for (const int step : {10, 20, 30, 20, 30}) add(train(step, step));
  REQUIRE(steps().size() == 3);
  CHECK(steps()[2].step == 30);
}

TEST_CASE("of a long run means of neighbours are kept, up to the last step, and a run that went back is cut there") {
  RunCurves curves;
  for (int step = 1; step <= 100'000; ++step) curves.add(train(step, step % 2));
  CHECK(curves.steps().size() == 3125);  // of 32 each
  CHECK(curves.steps()[0].step == 32);
  for (const RunCurves::Step& step : curves.steps()) REQUIRE(step.loss == Approx(0.5));
  CHECK(curves.steps().back().step == 100'000);
  curves.add(train(100'001, 0));  // which begins another group
  curves.add(train(64, 7));
  REQUIRE(curves.steps().size() == 2);
  CHECK(curves.steps()[1].loss == 7);
}

TEST_CASE_METHOD(RunCurves, "foreign rows change nothing") {
  add({{"kind", "train"}, {"step", "ten"}});
  add({{"kind", "train"}, {"step", -3}});
  add({{"kind", "train"}, {"step", 1e300}});
  add({{"kind", "comment"}, {"step", 5}});
  CHECK(steps().empty());
  CHECK(step() == 0);
  add({{"kind", "train"}, {"step", 1}, {"loss", nullptr}});
  CHECK(std::isnan(steps().at(0).loss));
}
