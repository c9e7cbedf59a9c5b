#include "optimizer/optimizer.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "optimizer/muon.h"

namespace chargpt {
namespace {

/// Adam with decoupled weight decay, in one fused pass over the buffers. The kernel divides gradients by grad_scale, so
/// clipping costs nothing. Source: Loshchilov & Hutter (2019), "Decoupled weight decay regularization"; same figures as
/// torch's AdamW.
void adamw(ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  const auto scalar = group.values.options().dtype(torch::kFloat32);
  std::optional<torch::Tensor> divisor;
  if (context.gradient_scale != 1) divisor = torch::full({}, 1 / context.gradient_scale, scalar);
  at::_fused_adamw_({group.values}, {group.gradients}, {group.moment1}, {group.moment2}, {},
                    {torch::full({}, static_cast<double>(step), scalar)}, group.learning_rate * context.lr_factor,
                    context.beta1, context.beta2, group.weight_decay, context.eps,
                    /*amsgrad=*/false, /*maximize=*/false, divisor);
}

struct RuleRow {
  UpdateRule rule;
  void (*apply)(ParameterGroup& group, std::int64_t step, const UpdateContext& context);
};
constexpr std::array rules{
    RuleRow{UpdateRule::adamw, adamw},
    RuleRow{UpdateRule::muon, muon},
};

const RuleRow& row_of(UpdateRule rule) {
  for (const RuleRow& row : rules)
    if (row.rule == rule) return row;
  throw Error(ExitCode::internal, "an update rule without a row in optimizer.cpp");
}

}  // namespace

void update(ParameterArena& arena, const UpdateContext& context) {
  const torch::NoGradGuard no_grad;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  arena.count_update();
  for (ParameterGroup& group : arena.groups()) {
    start_moments(group);
    row_of(group.rule).apply(group, arena.updates(), context);
  }
}

double clipping_factor(double gradient_norm, double grad_clip) {
  return grad_clip > 0 ? std::min(1.0, grad_clip / (gradient_norm + 1e-6)) : 1.0;
}

void clip_and_update(ParameterArena& arena, const TrainConfig& train, double gradient_norm, double lr_factor) {
  update(arena, {.lr_factor = lr_factor,
                 .gradient_scale = clipping_factor(gradient_norm, train.grad_clip),
                 .beta1 = train.beta1,
                 .beta2 = train.beta2,
                 .eps = train.adam_eps});
}

}  // namespace chargpt
