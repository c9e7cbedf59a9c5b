// metrics.jsonl read while it grows, and what its rows tell of a run.
#include "report/charts/run_curves.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "report/files/metrics.h"
#include "test.h"
#include "test_folder.h"

using namespace chargpt;
using Row = nlohmann::ordered_json;

namespace {

Row train(int step, double loss) {
  return {{"kind", "train"}, {"step", step}, {"loss", loss}, {"tokens_per_second", 100.0}, {"seconds", step * 0.5}};
}

Row eval(int step, double val_loss) {
  return {{"kind", "eval"}, {"step", step}, {"train_loss", 1.0}, {"val_loss", val_loss}, {"seconds", step * 0.5}};
}

/// A reader and the steps it told since the file began.
struct Reading {
  explicit Reading(const std::filesystem::path& path) : reader(path) {}
  const std::vector<int>& read() {
    reader.read([&] { steps.clear(); }, [&](const Row& row) { steps.push_back(row["step"].get<int>()); });
    return steps;
  }
  MetricsReader reader;
  std::vector<int> steps;
};

void append(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

}  // namespace

TEST_CASE("rows are told once, and a half-written line when it is whole") {
  const TestFolder folder;
  const auto path = folder / "metrics.jsonl";
  Reading reading(path);
  CHECK(reading.read().empty());  // not there yet
  append(path, train(1, 2).dump() + "\n" + train(2, 2).dump().substr(0, 9));
  CHECK(reading.read() == std::vector<int>{1});
  append(path, train(2, 2).dump().substr(9) + "\n");
  CHECK(reading.read() == std::vector<int>{1, 2});
  CHECK(reading.read() == std::vector<int>{1, 2});
  CHECK(reading.reader.complaint().empty());
}

TEST_CASE("a file written anew is read from its beginning") {
  const TestFolder folder;
  const auto path = folder / "metrics.jsonl";
  Reading reading(path);
  write_file_atomically(path, train(1, 2).dump() + "\n" + train(2, 2).dump() + "\n");
  CHECK(reading.read() == std::vector<int>{1, 2});
  write_file_atomically(path, train(1, 2).dump() + "\n");
  CHECK(reading.read() == std::vector<int>{1});
}

TEST_CASE("broken lines are counted, the first one named, the others told") {
  const TestFolder folder;
  const auto path = folder / "metrics.jsonl";
  append(path, train(1, 2).dump() + "\n{broken\n[1]\n{}\n" + train(2, 2).dump() + "\n");
  Reading reading(path);
  CHECK(reading.read() == std::vector<int>{1, 2});
  CHECK(reading.reader.complaint() == path.string() + ": skipped 3 malformed lines (first: line 2)");
}

TEST_CASE("a row nested too deep to be copied is left out") {
  const TestFolder folder;
  const auto path = folder / "metrics.jsonl";
  constexpr int levels = 400'000;
  append(path, R"({"kind":"plan","step":1,"leaks":)" + std::string(levels, '[') + std::string(levels, ']') + "}\n" +
                   R"({"kind":"train","step":2,"note":"\")" + std::string(20, '[') + R"("})" + "\n");
  Reading reading(path);
  CHECK(reading.read() == std::vector<int>{2});
  CHECK(reading.reader.complaint() == path.string() + ": skipped 1 malformed line (first: line 1)");
}

TEST_CASE("the curves say where a run stands") {
  RunCurves curves;
  curves.add({{"kind", "plan"}, {"step", 0}, {"max_iters", 100}, {"leaks", false}});
  curves.add(train(10, 3));
  curves.add(train(30, 2));
  curves.add(eval(30, 2.5));
  curves.add(eval(40, 2.75));
  CHECK(curves.step() == 40);
  CHECK(curves.max_iters() == 100);
  CHECK(curves.best_val_loss() == 2.5);
  CHECK(curves.best_step() == 30);
  CHECK(curves.tokens_per_second() == Approx(100));
  CHECK(*curves.seconds_left() == Approx(0.5 * 60));
  CHECK(curves.end().ended == Ending::unknown);
  Row averaged = eval(50, 2.75);
  averaged["averaged_val_loss"] = 2.25;
  curves.add(averaged);
  CHECK(curves.best_val_loss() == 2.25);
  CHECK(curves.best_step() == 50);
}

TEST_CASE("an end counts until the run goes on") {
  RunCurves curves;
  curves.add({{"kind", "end"}, {"step", 50}, {"ended", "patience"}, {"max_iters", 100}, {"seconds", 9.0}});
  CHECK(curves.end().ended == Ending::patience);
  CHECK(curves.end().max_iters == 100);
  curves.add({{"kind", "plan"}, {"step", 50}, {"max_iters", 200}});
  CHECK(curves.end().ended == Ending::unknown);
}

TEST_CASE("a run that went back has one curve") {
  RunCurves curves;
  for (const int step : {10, 20, 30, 20, 30}) curves.add(train(step, step));
  REQUIRE(curves.steps().size() == 3);
  CHECK(curves.steps()[2].step == 30);
}

TEST_CASE("of a long run means of neighbours are kept, up to the last step, and a run that went back is cut there") {
  RunCurves curves;
  for (int step = 1; step <= 100'000; ++step) curves.add(train(step, step % 2));
  CHECK(curves.steps().size() == 3125);  // of 32 each
  CHECK(curves.steps()[0].step == 32);
  for (const RunCurves::Step& step : curves.steps()) REQUIRE(step.loss == Approx(0.5));
  CHECK(curves.steps().back().step == 100'000);
  curves.add(train(64, 7));
  REQUIRE(curves.steps().size() == 2);
  CHECK(curves.steps()[1].loss == 7);
}

TEST_CASE("foreign rows change nothing") {
  RunCurves curves;
  curves.add({{"kind", "train"}, {"step", "ten"}});
  curves.add({{"kind", "train"}, {"step", -3}});
  curves.add({{"kind", "train"}, {"step", 1e300}});
  curves.add({{"kind", "comment"}, {"step", 5}});
  CHECK(curves.steps().empty());
  CHECK(curves.step() == 0);
  curves.add({{"kind", "train"}, {"step", 1}, {"loss", nullptr}});
  CHECK(std::isnan(curves.steps().at(0).loss));
}
