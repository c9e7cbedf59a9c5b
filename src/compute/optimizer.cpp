#include "compute/optimizer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/names.h"

namespace chargpt {
namespace {

using Rule = void (*)(ParameterGroup& group, std::int64_t step, const UpdateContext& context);

/// Adam with decoupled weight decay, in one fused pass over the buffers. The kernel divides gradients by grad_scale, so
/// clipping costs nothing. Source: Loshchilov & Hutter (2019), "Decoupled weight decay regularization"; same figures as
/// torch's AdamW.
void adamw(ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  if (!group.moment1.defined()) {
    group.moment1 = torch::zeros_like(group.values);
    group.moment2 = torch::zeros_like(group.values);
  }
  const auto scalar = group.values.options().dtype(torch::kFloat32);
  std::optional<torch::Tensor> divisor;
  if (context.gradient_scale != 1) divisor = torch::full({}, 1 / context.gradient_scale, scalar);
  at::_fused_adamw_({group.values}, {group.gradients}, {group.moment1}, {group.moment2}, {},
                    {torch::full({}, static_cast<double>(step), scalar)}, group.learning_rate * context.lr_factor,
                    context.beta1, context.beta2, group.weight_decay, context.eps,
                    /*amsgrad=*/false, /*maximize=*/false, divisor);
}

struct RuleRow {
  UpdateRule name;
  Rule apply;
};
constexpr std::array rules{RuleRow{UpdateRule::adamw, adamw}};

Rule rule_of(const ParameterGroup& group) {
  for (const RuleRow& row : rules)
    if (row.name == group.rule) return row.apply;
  throw Error(ExitCode::usage, "train.groups: optimizer = " + std::string(enum_name(group.rule)) + " is not there yet");
}

}  // namespace

void check_update_rules(const ParameterArena& arena) {
  for (const ParameterGroup& group : arena.groups()) rule_of(group);
}

void update(ParameterArena& arena, const UpdateContext& context) {
  const torch::NoGradGuard no_grad;
  arena.count_update();
  for (ParameterGroup& group : arena.groups()) rule_of(group)(group, arena.updates(), context);
}

double clipping_factor(double gradient_norm, double grad_clip) {
  return grad_clip > 0 ? std::min(1.0, grad_clip / (gradient_norm + 1e-6)) : 1.0;
}

}  // namespace chargpt
