#include "compute/optimizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace chargpt {
namespace {

using UpdateRule = void (*)(ParameterGroup& group, std::int64_t step, const UpdateContext& context);

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

struct NamedRule {
  std::string_view name;
  UpdateRule rule;
};
constexpr std::array rules{NamedRule{"adamw", adamw}};

UpdateRule rule_named(const std::string& name) {
  for (const NamedRule& row : rules)
    if (row.name == name) return row.rule;
  std::string known;
  for (const NamedRule& row : rules) known += (known.empty() ? "" : ", ") + std::string(row.name);
  throw Error(ExitCode::usage, "train.groups: optimizer = \"" + name + "\" is unknown; there is: " + known);
}

}  // namespace

void check_update_rules(const ParameterArena& arena) {
  for (const ParameterGroup& group : arena.groups()) rule_named(group.optimizer);
}

void update(ParameterArena& arena, const UpdateContext& context) {
  const torch::NoGradGuard no_grad;
  arena.count_update();
  for (ParameterGroup& group : arena.groups()) rule_named(group.optimizer)(group, arena.updates(), context);
}

double clipping_factor(double gradient_norm, double grad_clip) {
  return grad_clip > 0 ? std::min(1.0, grad_clip / (gradient_norm + 1e-6)) : 1.0;
}

}  // namespace chargpt
