// A run that is stopped and resumed, beside an undisturbed twin: both must have the same course, bit for bit.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "small_run.h"

namespace chargpt {

/// Where a run is stopped: after update `step`, or in the midst of `work` after that update.
struct Stop {
  std::int64_t step = 0;
  std::string work{};
};

/// What a run gave, in all its parts. Rows are JSON, in which NaN equals NaN.
struct Course {
  std::vector<std::string> steps, evaluations, samples, notices;
  nlohmann::ordered_json state;                ///< of the last checkpoint, without the seconds
  std::map<std::string, std::string> tensors;  ///< of the last checkpoint: weights, moments and averages, by name
  std::int64_t best_step = 0;                  ///< of the checkpoint that is found as the best
};

inline void add(Course& course, const Recorder& seen) {
  const auto row = [](const nlohmann::json& figures) { return figures.dump(); };
  for (const StepEvent& e : seen.steps) course.steps.push_back(row({e.step, e.loss, e.lr, e.grad_norm}));
  for (const EvalEvent& e : seen.evaluations)
    course.evaluations.push_back(
        row({e.step, e.train_loss.value_or(0), e.val_loss, e.averaged_val_loss.value_or(0), e.best, e.best_val_loss}));
  for (const SampleEvent& e : seen.samples) course.samples.push_back(std::to_string(e.step) + ": " + e.text);
  course.notices.insert(course.notices.end(), seen.notices.begin(), seen.notices.end());
}

/// The course of a run in a folder of its own. A stop interrupts it once; `meanwhile` happens before it is resumed.
inline Course course_of(
    const ResolvedConfig& config, TrainerOptions options, const std::optional<Stop>& stop = {},
    const std::function<void()>& meanwhile = [] {}) {
  const TestFolder folder;
  options.run = folder.path();
  const auto corpus = [&] { return corpus_from_text(formula_text(1200), config.config.data, "a text"); };
  Course course;
  if (stop) {
    SmallRun first(config, options, corpus());
    first.recorder->stop_in = stop->work;
    first.recorder->stop_in_step = stop->step;
    if (stop->work.empty())
      hear<StepEvent>(first.trainer, [&](const StepEvent& e) { first.recorder->stop = e.step == stop->step; });
    REQUIRE(first.trainer.run() == Ending::stopped);
    CHECK(first.recorder->stop_in.empty());
    CHECK(last_checkpoint(folder.path()).state.step == stop->step);
    add(course, *first.recorder);
    meanwhile();
    options.teachers = last_checkpoint(folder.path()).state.teachers;
  }
  SmallRun rest(config, options, corpus());
  if (stop) rest.trainer.resume_from(last_checkpoint(folder.path()));
  rest.trainer.run();
  add(course, *rest.recorder);
  const Checkpoint last = last_checkpoint(folder.path());
  course.state = to_json(last.state);
  for (const char* measured : {"seconds", "training_seconds", "setup_seconds", "closing_seconds"})
    course.state.erase(measured);
  for (const TensorView& tensor : last.file.tensors)
    course.tensors[tensor.name].assign(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  course.best_step = load_checkpoint(folder.path(), "best").state.step;
  return course;
}

/// Compares a stopped and resumed run with a whole one, and returns the course of the whole one.
inline Course check_resumes(
    const ResolvedConfig& config, const Stop& stop, const TrainerOptions& options = {},
    const std::function<void()>& meanwhile = [] {}) {
  INFO(stop.work << " stopped at step " << stop.step << ", engine " << options.engine << ", threads "
                 << options.threads);
  const Course whole = course_of(config, options), parts = course_of(config, options, stop, meanwhile);
  CHECK(parts.steps == whole.steps);
  CHECK(parts.evaluations == whole.evaluations);
  CHECK(parts.samples == whole.samples);
  CHECK(parts.state.dump() == whole.state.dump());
  CHECK(parts.best_step == whole.best_step);
  CHECK(whole.tensors.size() >= 2);
  const bool same_tensors = parts.tensors == whole.tensors;  // which cannot be printed
  CHECK(same_tensors);
  for (const std::string& notice : parts.notices) CHECK(notice.find("not bit-exact") == std::string::npos);
  return whole;
}

}  // namespace chargpt
