#include "libtorch/device_engine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "engine/muon.h"
#include "network/parameter_groups.h"

namespace chargpt {
namespace {

using cpu::AlignedFloats;
using torch::Tensor;

/// A tensor on the arena's buffer, without a copy.
Tensor view_of(const AlignedFloats& buffer) {
  return torch::from_blob(buffer.data(), {buffer.size()}, torch::kFloat32);
}

Tensor part_of(const Tensor& buffer, const ParameterGroup& group) {
  return buffer.narrow(0, group.begin, group.size());
}
Tensor part_of(const Tensor& buffer, const Parameter& parameter) {
  return buffer.narrow(0, parameter.offset, parameter.numel()).view(parameter.shape);
}

/// Adam with decoupled weight decay, in one fused pass. It divides gradients by grad_scale, so clipping is free.
void adamw(const ParameterGroup& group, Tensor values, const Tensor& gradients, Tensor moment1, Tensor moment2,
           std::int64_t step, const UpdateContext& context) {
  const auto scalar = values.options().dtype(torch::kFloat32);
  std::optional<Tensor> divisor;
  if (context.gradient_scale != 1) divisor = torch::full({}, 1 / context.gradient_scale, scalar);
  at::_fused_adamw_({values}, {gradients}, {moment1}, {moment2}, {},
                    {torch::full({}, static_cast<double>(step), scalar)}, group.learning_rate * context.lr_factor,
                    context.beta1, context.beta2, group.weight_decay, context.eps,
                    /*amsgrad=*/false, /*maximize=*/false, divisor);
}

/// A parameter's matrices, transposed if needed so that rows <= cols: views of `buffer`, (stacked, r, c).
Tensor lying(const Tensor& buffer, const Parameter& one) {
  const Tensor matrices = part_of(buffer, one).view({one.stacked, one.rows(), one.shape[1]});
  return matrices.size(1) > matrices.size(2) ? matrices.transpose(1, 2) : matrices;
}

/// Orthogonalises each matrix of a batch: moves its singular values close to 1, as in engine/muon.h. Shape: (k, r, c)
/// -> (k, r, c); fastest if r <= c.
Tensor orthogonalised(const Tensor& matrices) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315, eps = 1e-7;
  const Tensor norm = at::linalg_vector_norm(matrices, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true);
  Tensor x = matrices / (norm + eps);
  for (int step = 0; step < 5; ++step) {
    const Tensor g = at::bmm(x, x.transpose(1, 2));  // (k, r, r)
    const Tensor p = at::baddbmm(g, g, g, b, c);     // b g + c g g
    x = at::baddbmm(x, p, x, a);                     // a x + p x
  }
  return x.to(matrices.scalar_type());  // bfloat16 products have another dtype
}

/// See engine/muon.h. 0-d tensors: `rate` of the group, `scale` of the gradients. The other tensors are whole buffers.
void muon(const ParameterArena& arena, const ParameterGroup& group, const Tensor& values, const Tensor& gradients,
          const Tensor& moments, const Tensor& rate, const Tensor& scale) {
  const Tensor fresh = part_of(gradients, group) * scale, moment = part_of(moments, group);
  moment.lerp_(fresh, 1 - group.momentum);
  const Tensor ahead = torch::empty_like(values);
  part_of(ahead, group).copy_(moment.lerp(fresh, 1 - group.momentum));
  if (group.weight_decay > 0) part_of(values, group).mul_(1 - rate * group.weight_decay);
  // Matrices of one shape, after transposition, are multiplied as one batch.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Parameter*>> by_shape;
  for (const Parameter& one : arena.parameters_of(group))
    by_shape[std::minmax({one.rows(), one.shape[1]})].push_back(&one);
  for (const auto& [shape, parameters] : by_shape) {
    std::vector<Tensor> matrices;
    for (const Parameter* one : parameters) matrices.push_back(lying(ahead, *one));
    const Tensor steps = orthogonalised(at::cat(matrices));  // (k, r, c)
    std::int64_t first = 0;
    for (const Parameter* one : parameters) {
      Tensor step = steps.narrow(0, first, one->stacked);
      if (group.rule == UpdateRule::muon_rows) {
        const int columns = one->rows() > one->shape[1] ? 1 : 2;  // the dimension that was them before lying()
        const Tensor lengths = at::linalg_vector_norm(step, 2, at::IntArrayRef{columns}, /*keepdim=*/true);
        step = step * (lengths.square().mean({1, 2}, /*keepdim=*/true).sqrt() / (lengths + 1e-8));
      }
      lying(values, *one).sub_(step * (rate * rate_of_shape(*one)));
      first += one->stacked;
    }
  }
}

}  // namespace

DeviceEngine::DeviceEngine(LanguageModel& model, const EngineRequest& request)
    : Engine(request), device_(request.device), groups_(arena_.groups().size()) {
  const torch::NoGradGuard no_grad;
  model.to(device_);
  const auto named = model.named_parameters();
  values_ = view_of(arena_.values).to(device_);  // on the CPU, the same memory
  gradients_ = view_of(arena_.gradients).to(device_);
  for (const Parameter& own : arena_.parameters()) {
    const Tensor* const found = named.find(own.name);
    if (found == nullptr || found->sizes() != own.shape)
      throw Error(ExitCode::internal, "the module does not have parameter " + own.name + " with the arena's shape");
    Tensor parameter = *found;
    parameter.set_data(part_of(values_, own));
    parameter.mutable_grad() = part_of(gradients_, own);
  }
  if (named.size() != arena_.parameters().size())
    throw Error(ExitCode::internal, "the module's parameters differ from the arena's");
  if (!device_.is_cpu()) DeviceEngine::take_over();
}

void DeviceEngine::update(const UpdateContext& context) {
  if (device_.is_cpu()) return Engine::update(context);
  const torch::NoGradGuard no_grad;
  arena_.count_update();
  arena_is_old_ = true;
  if (!moment1_.defined()) moment1_ = torch::zeros_like(values_);
  if (!moment2_.defined()) moment2_ = torch::zeros_like(values_);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ParameterGroup& group = arena_.groups()[i];
    Group& own = groups_[i];
    if (group.rule == UpdateRule::adamw) {
      adamw(group, part_of(values_, group), part_of(gradients_, group), part_of(moment1_, group),
            part_of(moment2_, group), arena_.updates(), context);
      continue;
    }
    if (!own.rate.defined()) own.rate = torch::empty({}, values_.options()), own.scale = own.rate.clone();
    own.rate.fill_(group.learning_rate * context.lr_factor);
    own.scale.fill_(context.gradient_scale);
    own.recorded.run(device_, [&] { muon(arena_, group, values_, gradients_, moment1_, own.rate, own.scale); });
  }
}

void DeviceEngine::average(double decay) {
  if (device_.is_cpu()) return Engine::average(decay);
  const torch::NoGradGuard no_grad;
  arena_is_old_ = true;
  if (averages_.defined()) averages_.lerp_(values_, fresh_part(arena_, decay));
}

void DeviceEngine::swap_averages() {
  if (device_.is_cpu()) return Engine::swap_averages();
  const torch::NoGradGuard no_grad;
  arena_is_old_ = true;
  if (!averages_.defined()) return;
  const Tensor values = values_.clone();
  values_.copy_(averages_);
  averages_.copy_(values);
}

void DeviceEngine::give_gradients() {
  if (!device_.is_cpu()) view_of(arena_.gradients).copy_(gradients_);
}

void DeviceEngine::take_gradients() {
  if (!device_.is_cpu()) gradients_.copy_(view_of(arena_.gradients));
}

void DeviceEngine::give_back() {
  if (!std::exchange(arena_is_old_, false)) return;
  const auto copy = [](const Tensor& from, AlignedFloats& to) {
    if (!from.defined()) return;
    if (to.empty()) to = AlignedFloats(from.numel());
    view_of(to).copy_(from);
  };
  copy(values_, arena_.values);
  copy(moment1_, arena_.moment1);
  copy(moment2_, arena_.moment2);
  copy(averages_, arena_.averages);
}

void DeviceEngine::take_over() {
  if (device_.is_cpu()) return Engine::take_over();
  arena_is_old_ = false;
  const torch::NoGradGuard no_grad;
  const auto copy = [this](const AlignedFloats& from, Tensor& to) {
    if (to.defined())  // recordings use this tensor
      from.empty() ? to.zero_() : to.copy_(view_of(from));
    else if (!from.empty())
      to = view_of(from).to(device_);
  };
  copy(arena_.values, values_);
  copy(arena_.moment1, moment1_);
  copy(arena_.moment2, moment2_);
  copy(arena_.averages, averages_);
}

}  // namespace chargpt
