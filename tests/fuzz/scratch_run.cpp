#include "scratch_run.h"

#include <stdlib.h>

#include <fstream>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "promise.h"
#include "report/files/metrics.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

fs::path folder_in_memory() {
  std::error_code ignored;
  const fs::path memory = "/dev/shm";
  std::string pattern =
      ((fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path()) / "chargpt-fuzz-XXXXXX").string();
  promise(::mkdtemp(pattern.data()) != nullptr, "there is room for a folder");
  return pattern;
}

void write_plainly(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::ssize(bytes));
}

/// Three weights and six moments of step 7, which is last and best.
fs::path save_small_checkpoint(const fs::path& run) {
  RunState state;
  state.step = state.best_step = 7;
  state.max_iters = 10;
  state.program_version = state.libtorch_version = "1";
  const std::vector<float> weights(3, 1.0F), moments(6, 0.5F);
  const std::vector<TensorView> model = {{"w", "F32", {3}, std::as_bytes(std::span(weights))}};
  const std::vector<TensorView> optimizer = {{"m", "F32", {2, 3}, std::as_bytes(std::span(moments))}};
  return save_checkpoint(run, {state, Vocabulary::of_bytes(), ResolvedConfig(), model, optimizer}, 1).path;
}

}  // namespace

ScratchRun::ScratchRun()
    : path_(folder_in_memory()), checkpoint_(save_small_checkpoint(path_)), own_(read_file(checkpoint_)) {
  file("base.json", R"({"train":{"max_iters":7}})");
}

ScratchRun::~ScratchRun() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path ScratchRun::file(const std::string& name, std::string_view bytes) const {
  write_plainly(path_ / name, bytes);
  return path_ / name;
}

void ScratchRun::open() const {
  for (const bool with_optimizer : {false, true})
    attempt([&] {
      const Checkpoint loaded = load_checkpoint(path_, with_optimizer ? "last" : "best", with_optimizer);
      for (const std::string& notice : loaded.notices) promise_fit_for_people(notice);
    });
  attempt([&] { read_state(checkpoint_); });
}

void ScratchRun::open_with(std::string_view bytes) const {
  write_plainly(checkpoint_, bytes);
  open();
  write_plainly(checkpoint_, own_);
}

void ScratchRun::open_with_field(const std::string& name, std::string_view text) const {
  const SafetensorsFile file = parse_safetensors(std::as_bytes(std::span(own_)), "own");
  std::map<std::string, std::string> metadata = file.metadata;
  metadata[name] = text;
  write_plainly(checkpoint_, checked_header(file.tensors, std::move(metadata)) + own_.substr(file.start.size()));
  open();
  write_plainly(checkpoint_, own_);
}

std::string ScratchRun::metrics_resumed(std::string_view foreign, std::int64_t step) const {
  const fs::path path = file("metrics.jsonl", foreign);
  MetricsWriter metrics(path, step);
  PlanEvent plan;
  plan.start_step = step;
  EvalEvent evaluation{.step = step, .train_loss = 2.0, .val_loss = 2.0, .averaged_val_loss = 1.5, .leaks = true};
  metrics.on(plan);
  metrics.on(StepEvent{.step = step + 1, .max_iters = step + 1});
  metrics.on(evaluation);
  metrics.on(CheckpointEvent{step, checkpoint_, true});
  metrics.on(NoticeEvent{std::string(foreign.substr(0, 100))});
  return read_file(path);
}

}  // namespace chargpt
