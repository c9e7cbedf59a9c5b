#include "engine/optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/muon.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

namespace chargpt {
namespace {

/// Calls body(begin, end) on the threads: [0, n) in parts that start at cache lines, on as many threads as have enough
/// work.
template <class Body>
void on_parts(std::int64_t n, const Body& body) {
  constexpr std::int64_t worth_a_thread = 1 << 14;
  const std::int64_t threads =
      std::clamp<std::int64_t>(n / worth_a_thread, 1, static_cast<std::int64_t>(cpu::threads_in_force()));
  const std::int64_t part = cpu::rounded_up((n + threads - 1) / threads, cpu::cache_line);
  cpu::on_threads(static_cast<int>(threads), [&](int thread) {
    const std::int64_t begin = std::min(n, thread * part), end = std::min(n, begin + part);
    if (begin < end) body(begin, end);
  });
}

/// Adam with decoupled weight decay; same results as torch's AdamW. Formula in kernels/updates.h.
void adamw(ParameterArena& arena, const ParameterGroup& group, const UpdateContext& context) {
  const auto t = static_cast<double>(arena.updates());
  const double rate = group.learning_rate * context.lr_factor;
  const cpu::AdamwFactors by{.scale = static_cast<float>(context.gradient_scale),
                             .fresh1 = static_cast<float>(1 - context.beta1),
                             .fresh2 = static_cast<float>(1 - context.beta2),
                             .beta2 = static_cast<float>(context.beta2),
                             .eps = static_cast<float>(context.eps),
                             .kept = static_cast<float>(1 - rate * group.weight_decay),
                             .step = static_cast<float>(rate / (1 - std::pow(context.beta1, t))),
                             .inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(context.beta2, t)))};
  on_parts(group.size(), [&](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = group.begin + first;
    cpu::kernels().adamw(by, last - first, arena.gradients.data() + begin, arena.values.data() + begin,
                         arena.moment1.data() + begin, arena.moment2.data() + begin);
  });
}

}  // namespace

void update(ParameterArena& arena, const UpdateContext& context) {
  arena.count_update();
  arena.start_moments();
  for (const ParameterGroup& group : arena.groups()) {
    switch (group.rule) {
      case UpdateRule::adamw:
        adamw(arena, group, context);
        break;
      case UpdateRule::muon:
      case UpdateRule::muon_rows:
        muon(arena, group, context);
        break;
    }
  }
}

UpdateContext update_context(const TrainConfig& train, double gradient_norm, double lr_factor) {
  constexpr double least_eps = 1e-18;  // squares of smaller gradients are 0 in float32, and x / 0 is not finite
  return {.lr_factor = lr_factor,
          .gradient_scale = train.grad_clip > 0 ? std::min(1.0, train.grad_clip / (gradient_norm + 1e-6)) : 1.0,
          .beta1 = train.beta1,
          .beta2 = train.beta2,
          .eps = std::max(least_eps, train.adam_eps)};
}

double fresh_part(const ParameterArena& arena, double decay) {
  const auto updates = static_cast<double>(arena.updates());
  return 1 - std::min(decay, (1 + updates) / (10 + updates));
}

void follow_averages(ParameterArena& arena, double decay) {
  const auto fresh = static_cast<float>(fresh_part(arena, decay));
  on_parts(arena.averages.size(), [&](std::int64_t begin, std::int64_t end) {
    cpu::kernels().lerp(fresh, end - begin, arena.values.data() + begin, arena.averages.data() + begin);
  });
}

void swap_averages(ParameterArena& arena) {
  if (!arena.averages.empty()) std::ranges::swap_ranges(arena.values.all(), arena.averages.all());
}

}  // namespace chargpt
