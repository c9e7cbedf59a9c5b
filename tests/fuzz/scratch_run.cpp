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

namespace fs = std::filesystem;

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

/// Size and sum of a file are the right ones where the foreign ones are even: so that none, one or both are wrong.
Manifest mixed(Manifest foreign, const Manifest& own) {
  for (auto& [name, sum] : foreign) {
    const auto right = own.find(name);
    if (right == own.end()) continue;
    if (sum.bytes % 2 == 0) sum.bytes = right->second.bytes;
    if (sum.crc64 % 2 == 0) sum.crc64 = right->second.crc64;
  }
  return foreign;
}

}  // namespace

ScratchRun::ScratchRun() : path_(folder_in_memory()), checkpoint_(save_small_checkpoint(path_)) {
  sums_ = read_manifest(checkpoint_);
  file("base.json", R"({"train":{"max_iters":7}})");
}

ScratchRun::~ScratchRun() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void ScratchRun::put(const std::string& name, std::string_view bytes) const {
  write_plainly(checkpoint_ / name, bytes);
}

fs::path ScratchRun::file(const std::string& name, std::string_view bytes) const {
  write_plainly(path_ / name, bytes);
  return path_ / name;
}

void ScratchRun::open() const {
  for (const bool with_optimizer : {false, true})
    attempt([&] {
      std::vector<std::string> notices;
      load_checkpoint(path_, with_optimizer ? "last" : "best", with_optimizer, &notices);
      for (const std::string& notice : notices) promise_fit_for_people(notice);
    });
  for (const FileReport& report : verify_checkpoint(checkpoint_))
    if (!report.problem.empty()) promise_fit_for_people(report.problem);
}

void ScratchRun::open_with(const std::string& name, std::string_view bytes) const {
  const bool has_own = sums_.contains(name);
  const std::string own = has_own ? read_file(checkpoint_ / name) : "";
  Manifest sums = sums_;
  sums[name] = {bytes.size(), crc64(bytes)};
  put(name, bytes);
  put(manifest_file, manifest_text(sums));
  open();
  has_own ? put(name, own) : static_cast<void>(fs::remove(checkpoint_ / name));
  put(manifest_file, manifest_text(sums_));
}

void ScratchRun::open_with_manifest(std::string_view text) const {
  put(manifest_file, text);
  open();
  attempt([&] {
    put(manifest_file, manifest_text(mixed(parse_manifest(text, manifest_file), sums_)));
    open();
  });
  put(manifest_file, manifest_text(sums_));
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
