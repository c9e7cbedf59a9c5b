// metrics.jsonl: the rows as other programs read them, and what is left of them when a run is resumed.
#include "report/files/metrics.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "failure.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

StepEvent step(std::int64_t number) {
  return {.step = number,
          .max_iters = 1000,
          .share = static_cast<double>(number) / 1000,
          .loss = 2.5,
          .lr = 0.001,
          .grad_norm = 0.75,
          .tokens_per_second = 45000,
          .seconds = 1.5};
}

/// A metrics.jsonl and what it holds.
struct Metrics : TestFolder {
  std::string rows() const { return read_file(file); }
  nlohmann::json row() const { return nlohmann::json::parse(rows()); }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> steps;
    std::istringstream lines(rows());
    for (std::string line; std::getline(lines, line);) steps.push_back(nlohmann::json::parse(line).at("step"));
    return steps;
  }
  const fs::path file = path() / "metrics.jsonl";
};

/// One that a new run writes.
struct NewMetrics : Metrics {
  MetricsWriter metrics{file};
};

}  // namespace

TEST_CASE_METHOD(NewMetrics, "each event is one row, there when the call returns") {
  CHECK(rows().empty());
  metrics.on(step(1));
  CHECK(
      rows() ==
      R"({"kind":"train","step":1,"loss":2.5,"lr":0.001,"grad_norm":0.75,"tokens_per_second":45000.0,"share":0.001,"seconds":1.5})"
      "\n");
  metrics.on(EvalEvent{.step = 1,
                       .train_loss = 1.75,
                       .val_loss = 1.875,
                       .best = true,
                       .best_val_loss = 1.875,
                       .seconds = 2,
                       .training_seconds = 1.5});
  metrics.on(CheckpointEvent{1, "runs/a/checkpoints/step-00000001", true});
  metrics.on(NoticeEvent{"a \"quoted\" line", 1});
  const std::string all = rows();
  CHECK(
      all.substr(all.find('\n') + 1) ==
      R"({"kind":"eval","step":1,"train_loss":1.75,"val_loss":1.875,"best":true,"best_val_loss":1.875,"exact":true,"seconds":2.0,"training_seconds":1.5})"
      "\n"
      R"({"kind":"checkpoint","step":1,"path":"runs/a/checkpoints/step-00000001","best":true})"
      "\n"
      R"({"kind":"notice","step":1,"line":"a \"quoted\" line"})"
      "\n");
}

TEST_CASE_METHOD(NewMetrics, "a loss of averaged weights stands beside that of the trained ones") {
  metrics.on(EvalEvent{.train_loss = {}, .averaged_val_loss = 1.75});
  CHECK(row().at("averaged_val_loss") == 1.75);
}

TEST_CASE_METHOD(NewMetrics, "figures that are not finite are null") {
  StepEvent event = step(1);
  event.loss = std::numeric_limits<double>::quiet_NaN();
  event.grad_norm = std::numeric_limits<double>::infinity();
  metrics.on(event);
  const auto row = this->row();
  CHECK(row.at("loss").is_null());
  CHECK(row.at("grad_norm").is_null());
  CHECK(row.at("lr") == 0.001);
}

TEST_CASE_METHOD(Metrics, "train rows come at the first step, every log_interval and the last") {
  MetricsWriter metrics(file, std::nullopt, 10);
  for (std::int64_t i = 1; i <= 25; ++i) {
    StepEvent event = step(i);
    event.share = static_cast<double>(i) / 25;
    metrics.on(event);
  }
  CHECK(steps() == std::vector<std::int64_t>{1, 10, 20, 25});
}

TEST_CASE_METHOD(Metrics, "a new run does not go on with rows of an old one") {
  write_file_atomically(file, "{\"kind\":\"train\",\"step\":5}\n");
  MetricsWriter metrics(file);
  CHECK(rows().empty());
}

TEST_CASE_METHOD(Metrics, "resuming takes away the rows after the checkpoint and goes on behind them") {
  {
    MetricsWriter metrics(file);
    for (std::int64_t i = 1; i <= 5; ++i) metrics.on(step(i));
    metrics.on(NoticeEvent{"after step 5", 5});
  }
  MetricsWriter metrics(file, 3);
  CHECK(steps() == std::vector<std::int64_t>{1, 2, 3});
  metrics.on(NoticeEvent{"resumed", 3});
  metrics.on(step(4));
  CHECK(steps() == std::vector<std::int64_t>{1, 2, 3, 3, 4});
}

TEST_CASE("a row cut short by a crash is taken away, whole rows stay byte for byte") {
  const std::string whole = "{\"step\":1, \"mine\": 1.50}\n{\"kind\":\"comment\"}\n";
  CHECK(rows_up_to(whole + "{\"step\":2", 10) == whole);
  CHECK(rows_up_to(whole + "{\"step\":2\n", 10) == whole);
  CHECK(rows_up_to(whole + "[1]\n\n{\"step\":1e300}\n", 10) == whole);
  CHECK(rows_up_to("", 10).empty());
}

TEST_CASE_METHOD(Metrics, "resuming a run whose metrics are gone starts new ones") {
  MetricsWriter metrics(file, 3);
  metrics.on(step(4));
  CHECK(steps() == std::vector<std::int64_t>{4});
}

TEST_CASE("a full disk is an error that names the file") {
  PatientFile full("/dev/full", {});
  CHECK(error_of([&] { full.write("row\n"); }) ==
        Failure{ExitCode::io,
                "cannot write /dev/full: No space left on device; free some space, or choose another folder"});
}
