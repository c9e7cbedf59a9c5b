#include "train/conditions.h"

#include "base/error.h"
#include "base/line_of.h"
#include "config/changed_options.h"
#include "engine/device.h"
#include "engine/engine.h"
#include "learner/learner.h"
#include "text/text_place.h"
#include "train/sampling.h"

namespace chargpt {

RunConditions conditions_here(const Learner& learner, const Corpus& corpus, std::int64_t threads,
                              const std::string& program_version) {
  const bool bfloat16 = learner.device.is_cpu() && learner.config.dtype == Dtype::bfloat16 && cpu_has_bfloat16();
  return {.data = corpus.fingerprint(),
          .parameters = learner.arena.numel(),
          .start_symbol = start_symbol(corpus),
          .program_version = program_version,
          .libtorch_version = libtorch_version(),
          .cpu_capability = cpu_capability() + (bfloat16 ? " with bfloat16" : ""),
          .device = device_name(learner.device),
          .engine = std::string(learner.engine->name()),
          .threads = threads,
          .ranks = learner.ranks.ranks()};
}

void refuse_another_text(const Checkpoint& checkpoint, const Corpus& corpus) {
  if (checkpoint.vocabulary == corpus.vocabulary() && checkpoint.state.data == corpus.fingerprint()) return;
  throw Error(ExitCode::data, line_of("the text is not the one that ", checkpoint.path.string(), " was trained on (",
                                      difference_of(checkpoint.state.data, corpus.fingerprint()), "); ",
                                      advice_for_another_text(checkpoint.path)));
}

TrainerOptions options_to_resume(TrainerOptions asked, const RunConditions& then) {
  if (asked.device == "auto" && is_device_here(then.device)) asked.device = then.device;
  if (asked.threads == 0 && then.threads <= usable_processors()) asked.threads = then.threads;
  // On another device its engine is not the run's, or a slow choice.
  const bool same_device = device_name(choose_device(asked.device)) == then.device;
  if (asked.engine == "auto" && same_device && is_engine(then.engine)) asked.engine = then.engine;
  return asked;
}

std::vector<std::string> differing_conditions(const RunConditions& then, const RunConditions& now) {
  std::vector<std::string> lines;
  const auto compare = [&lines](const std::string& what, const auto& before, const auto& here) {
    if (before != here)
      lines.push_back(
          line_of("not bit-exact: ", what, " was ", before, " when the checkpoint was written and is ", here, " now"));
  };
  compare("chargpt", then.program_version, now.program_version);
  compare("LibTorch", then.libtorch_version, now.libtorch_version);
  compare("the CPU capability", then.cpu_capability, now.cpu_capability);
  compare("the device", then.device, now.device);
  compare("the engine", then.engine, now.engine);
  compare("the number of threads", then.threads, now.threads);
  compare("the number of ranks", then.ranks, now.ranks);
  return lines;
}

std::vector<std::string> changed_training(const Config& then, const Config& now) {
  std::vector<std::string> lines = changed_options(then, now);
  std::erase_if(lines, [](const std::string& line) {
    for (const char* start : {"train.keep ", "eval.log_interval ", "eval.sample_tokens ", "sample.", "data.text "})
      if (line.starts_with(start)) return true;
    return false;
  });
  return lines;
}

}  // namespace chargpt
