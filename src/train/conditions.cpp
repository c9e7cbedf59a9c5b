#include "train/conditions.h"

#include <algorithm>

#include "base/quote.h"
#include "config/describe.h"
#include "config/load.h"
#include "engine/device.h"
#include "engine/engine.h"
#include "engine/torch_module.h"
#include "kernels/kernels.h"
#include "predict/counts.h"
#include "train/learner.h"

namespace chargpt {

namespace {

/// The instruction sets or GPU in use: "AVX512", "AVX2, LibTorch DEFAULT", "NVIDIA H200, driver 580.159.04".
std::string capability(bool libtorch, const std::string& device) {
  const std::string kernels = kernels_capability();
  if (!libtorch) return kernels;
  const std::string other = torch_module("--engine libtorch").capability(device);
  if (device != "cpu") return other;
  return other == kernels ? kernels : kernels + ", LibTorch " + other;
}

}  // namespace

std::int64_t start_symbol(const Corpus& corpus) {
  if (corpus.vocabulary().document() >= 0) return corpus.vocabulary().document();
  const std::int64_t newline = corpus.vocabulary().id_of(U'\n');
  if (newline >= 0) return newline;
  const std::int64_t counted = std::min<std::int64_t>(corpus.train().size(), 10'000'000);
  const std::vector<std::int64_t> counts = frequencies_of(corpus.train().slice(0, counted), corpus.vocabulary().size());
  return std::ranges::max_element(counts) - counts.begin();
}

RunConditions conditions_here(const Learner& learner, const Corpus& corpus, std::int64_t threads,
                              const std::string& program_version) {
  const bool on_cpu = learner.device == "cpu", libtorch = learner.engine->name() == "libtorch";
  const bool bfloat16 = on_cpu && learner.config.dtype == Dtype::bfloat16 && cpu::bf16_kernels() != nullptr;
  return {.data = corpus.fingerprint(),
          .parameters = learner.arena.numel(),
          .start_symbol = start_symbol(corpus),
          .program_version = program_version,
          .libtorch_version = libtorch ? libtorch_version() : "none",
          .cpu_capability = capability(libtorch, learner.device) + (bfloat16 ? " with bfloat16" : ""),
          .device = learner.device,
          .engine = std::string(learner.engine->name()),
          .threads = threads,
          .ranks = learner.ranks.ranks()};
}

TrainerOptions options_to_resume(TrainerOptions asked, const RunConditions& then) {
  if (asked.device == "auto" && asked.engine == "cpu") asked.device = "cpu";
  if (asked.device == "auto" && is_device_here(then.device)) asked.device = then.device;
  if (asked.threads == 0 && then.threads <= usable_processors()) asked.threads = then.threads;
  // On another device, the run's engine may be missing or slow; the CPU engine is what auto chooses anyway.
  const bool same_device = asked.device == then.device || choose_device(asked.device) == then.device;
  if (asked.engine == "auto" && same_device && then.engine == "libtorch" && has_torch_module())
    asked.engine = "libtorch";
  asked.teachers = then.teachers;
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
  if (now.engine == "libtorch") compare("LibTorch", then.libtorch_version, now.libtorch_version);
  compare("the processor", then.cpu_capability, now.cpu_capability);
  compare("the device", then.device, now.device);
  compare("the engine", then.engine, now.engine);
  compare("the number of threads", then.threads, now.threads);
  compare("the number of ranks", then.ranks, now.ranks);
  return lines;
}

std::vector<std::string> changed_training(const Config& then, const Config& now) {
  return changed_options(then, now, /*section=*/"",
                         {"train.keep", "eval.log_interval", "eval.sample_tokens", "sample", "data.text"});
}

}  // namespace chargpt
