#include "engine/operations.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/clock.h"
#include "inference/model_types.h"
#include "inference/parameter_list.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

namespace chargpt {

std::optional<double> step_operations(const ModelConfig& config, std::int64_t vocab_size, std::int64_t tokens,
                                      std::int64_t T) {
  if (config.type != "gpt") return std::nullopt;
  const auto joined = static_cast<double>(config.n_head * head_width(config));
  const auto layers = static_cast<double>(config.n_layer);
  std::int64_t weights = config.tie_weights ? config.n_embd * vocab_size : 0;  // a head of its own is in the list
  for (const ParameterInfo& parameter : parameter_list(config, vocab_size))
    if (parameter.role == ParameterRole::matrix || parameter.role == ParameterRole::kernel)
      weights += parameter.numel();
  // A query sees (T + 1) / 2 keys on average. Forward has two products over them, scores and weighted values, backward
  // five.
  const double scores = layers * joined * static_cast<double>(T + 1) / 2 * 2 * (2 + 5);
  return static_cast<double>(tokens) * (6 * static_cast<double>(weights) + scores);
}

double measured_peak() {
  constexpr int bursts = 20;  // of about 10 ms; each thread's best counts, so that a disturbed one does not
  constexpr long rounds = 1'000'000;
  const int threads = cpu::threads_in_force();
  std::vector<double> best(static_cast<std::size_t>(threads));
  for (int burst = 0; burst < bursts; ++burst)
    cpu::on_threads(threads, [&](int thread) {
      double& mine = best[static_cast<std::size_t>(thread)];
      const double begun = steady_seconds(), operations = cpu::kernels().fma_loop(rounds);
      mine = std::max(mine, operations / (steady_seconds() - begun));
    });
  return std::accumulate(best.begin(), best.end(), 0.0);
}

}  // namespace chargpt
