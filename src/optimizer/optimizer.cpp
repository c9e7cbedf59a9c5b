#include "optimizer/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"
#include "optimizer/muon.h"

namespace chargpt {
namespace {

/// Adam with decoupled weight decay; the same figures as torch's AdamW. See kernels/updates.h.
void adamw(ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  const auto t = static_cast<double>(step);
  const double rate = group.learning_rate * context.lr_factor;
  const cpu::AdamwFactors by{.scale = static_cast<float>(context.gradient_scale),
                             .fresh1 = static_cast<float>(1 - context.beta1),
                             .fresh2 = static_cast<float>(1 - context.beta2),
                             .beta2 = static_cast<float>(context.beta2),
                             .eps = static_cast<float>(context.eps),
                             .kept = static_cast<float>(1 - rate * group.weight_decay),
                             .step = static_cast<float>(rate / (1 - std::pow(context.beta1, t))),
                             .inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(context.beta2, t)))};
  on_parts(group.size(), [&](std::int64_t begin, std::int64_t end) {
    cpu::kernels().adamw(by, end - begin, group.gradients.data() + begin, group.values.data() + begin,
                         group.moment1.data() + begin, group.moment2.data() + begin);
  });
}

struct RuleRow {
  UpdateRule rule;
  void (*apply)(ParameterGroup& group, std::int64_t step, const UpdateContext& context);
};
constexpr std::array rules{RuleRow{UpdateRule::adamw, adamw}, RuleRow{UpdateRule::muon, muon}};

const RuleRow& row_of(UpdateRule rule) {
  for (const RuleRow& row : rules)
    if (row.rule == rule) return row;
  throw Error(ExitCode::internal, "an update rule without a row in optimizer.cpp");
}

}  // namespace

void on_parts(std::int64_t n, const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  constexpr std::int64_t worth_a_thread = 1 << 14;
  const std::int64_t threads =
      std::clamp<std::int64_t>(n / worth_a_thread, 1, static_cast<std::int64_t>(cpu::threads_in_force()));
  const std::int64_t part = cpu::rounded_up((n + threads - 1) / threads, cpu::cache_line);
  cpu::on_threads(static_cast<int>(threads), [&](int thread) {
    const std::int64_t begin = std::min(n, thread * part), end = std::min(n, begin + part);
    if (begin < end) body(begin, end);
  });
}

void update(ParameterArena& arena, const UpdateContext& context) {
  arena.count_update();
  for (ParameterGroup& group : arena.groups()) {
    start_moments(group);
    row_of(group.rule).apply(group, arena.updates(), context);
  }
}

double clipping_factor(double gradient_norm, double grad_clip) {
  return grad_clip > 0 ? std::min(1.0, grad_clip / (gradient_norm + 1e-6)) : 1.0;
}

UpdateContext update_context(const TrainConfig& train, double gradient_norm, double lr_factor) {
  constexpr double least_eps = 1e-18;  // squares of smaller gradients are 0 in float32, and x / 0 is no weight
  return {.lr_factor = lr_factor,
          .gradient_scale = clipping_factor(gradient_norm, train.grad_clip),
          .beta1 = train.beta1,
          .beta2 = train.beta2,
          .eps = std::max(least_eps, train.adam_eps)};
}

}  // namespace chargpt
