#include "train/conditions.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "config/load.h"

namespace chargpt {
namespace {

template <class... Parts>
std::string line_of(const Parts&... parts) {
  std::ostringstream line;
  (line << ... << parts);
  return line.str();
}

}  // namespace

std::vector<std::string> differing_conditions(const RunState& then, const RunState& now) {
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
  return lines;
}

std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section) {
  const nlohmann::ordered_json before = to_json(then), here = to_json(now);
  std::vector<std::string> lines;
  for (const auto& [name, options] : here.items()) {
    if (!options.is_object() || (!section.empty() && name != section)) continue;
    for (const auto& [key, value] : options.items()) {
      const nlohmann::ordered_json& old = before.at(name).at(key);
      if (old != value) lines.push_back(line_of(name, ".", key, " ", old.dump(), " -> ", value.dump()));
    }
  }
  return lines;
}

std::vector<std::string> schedule_warnings(const TrainConfig& train) {
  std::vector<std::string> lines;
  if (train.warmup_iters >= train.max_iters && train.max_iters > 0)
    lines.push_back(line_of("train.warmup_iters = ", train.warmup_iters, " is not below the run's ", train.max_iters,
                            " updates: the learning rate never reaches its peak"));
  if (train.lr_schedule == LrSchedule::constant) return lines;
  if (train.lr_decay_iters > train.max_iters)
    lines.push_back(
        line_of("train.lr_decay_iters = ", train.lr_decay_iters, " is beyond the run's ", train.max_iters,
                " updates: the learning rate does not come down to min_lr (0 lets it follow the run's length)"));
  if (train.min_lr > train.learning_rate)
    lines.push_back(line_of("train.min_lr = ", train.min_lr, " is above train.learning_rate = ", train.learning_rate,
                            ": the learning rate rises"));
  return lines;
}

}  // namespace chargpt
