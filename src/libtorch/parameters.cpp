#include "libtorch/parameters.h"

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

/// The arena's buffer, in place.
Tensor view_of(const AlignedFloats& buffer) {
  return torch::from_blob(buffer.data(), {buffer.size()}, torch::kFloat32);
}

Tensor slot_of(const Tensor& buffer, const ParameterSlot& slot) {
  return buffer.narrow(0, slot.offset, slot.numel).view(slot.shape);
}

/// Adam with decoupled weight decay, in one fused pass. It divides gradients by grad_scale, so clipping costs nothing.
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

/// A slot's matrices, lying so that rows <= cols: views of `buffer`, (stacked, r, c).
Tensor lying(const Tensor& buffer, const ParameterSlot& slot) {
  const Tensor matrices = buffer.narrow(0, slot.offset, slot.numel).view({slot.stacked, slot.rows(), slot.shape[1]});
  return matrices.size(1) > matrices.size(2) ? matrices.transpose(1, 2) : matrices;
}

/// See engine/muon.h. `rate`, the group's at this step, and `scale`, of the gradients, are 0-d.
void muon(const ParameterGroup& group, Tensor values, const Tensor& gradients, Tensor moment, const Tensor& rate,
          const Tensor& scale) {
  const Tensor fresh = gradients * scale;
  moment.lerp_(fresh, 1 - group.momentum);
  const Tensor ahead = moment.lerp(fresh, 1 - group.momentum);
  if (group.weight_decay > 0) values.mul_(1 - rate * group.weight_decay);
  // Lying matrices of one shape are multiplied as one batch.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const ParameterSlot*>> by_shape;
  for (const ParameterSlot& slot : group.slots) by_shape[std::minmax({slot.rows(), slot.shape[1]})].push_back(&slot);
  for (const auto& [shape, slots] : by_shape) {
    std::vector<Tensor> matrices;
    for (const ParameterSlot* slot : slots) matrices.push_back(lying(ahead, *slot));
    const Tensor steps = orthogonalised(at::cat(matrices));  // (k, r, c)
    std::int64_t first = 0;
    for (const ParameterSlot* slot : slots) {
      lying(values, *slot).sub_(steps.narrow(0, first, slot->stacked) * (rate * rate_of_shape(*slot)));
      first += slot->stacked;
    }
  }
}

}  // namespace

Tensor orthogonalised(const Tensor& matrices) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315, eps = 1e-7;
  const Tensor norm = at::linalg_vector_norm(matrices, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true);
  Tensor x = matrices / (norm + eps);
  for (int step = 0; step < 5; ++step) {
    const Tensor g = at::bmm(x, x.transpose(1, 2));  // (k, r, r)
    const Tensor p = at::baddbmm(g, g, g, b, c);     // b g + c g g
    x = at::baddbmm(x, p, x, a);                     // a x + p x
  }
  return x.to(matrices.scalar_type());  // which products in bfloat16 are not
}

DeviceParameters::DeviceParameters(LanguageModel& model, ParameterArena& arena, const torch::Device& device)
    : arena_(arena), device_(device) {
  const torch::NoGradGuard no_grad;
  model.to(device);
  const auto named = model.named_parameters();
  for (const ParameterGroup& group : arena.groups()) {
    Group& own = groups_.emplace_back(device);
    own.values = view_of(group.values).to(device);  // on the CPU the same memory
    own.gradients = view_of(group.gradients).to(device);
    for (const ParameterSlot& slot : group.slots) {
      const Tensor* const found = named.find(slot.name);
      if (found == nullptr || found->sizes() != slot.shape)
        throw Error(ExitCode::internal, "the module has no parameter " + slot.name + " of the arena's shape");
      Tensor parameter = *found;
      parameter.set_data(slot_of(own.values, slot));
      parameter.mutable_grad() = slot_of(own.gradients, slot);
    }
  }
  if (model.parameter_count() != arena.numel())
    throw Error(ExitCode::internal, "the module has other parameters than the arena");
  if (!device.is_cpu()) take_over();
}

void DeviceParameters::zero_gradients() {
  for (Group& group : groups_) group.gradients.zero_();
}

Tensor DeviceParameters::gradient_norm() const {
  std::vector<Tensor> norms;
  for (const Group& group : groups_) norms.push_back(at::linalg_vector_norm(group.gradients));
  return at::linalg_vector_norm(at::stack(norms));
}

/// body(a group of the arena, its copy on the device); on the CPU there are no copies.
template <class Body>
void DeviceParameters::for_each_copy(const Body& body) {
  if (device_.is_cpu()) return;
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < groups_.size(); ++i) body(arena_.groups()[i], groups_[i]);
}

void DeviceParameters::update(const UpdateContext& context) {
  arena_.count_update();
  arena_is_old_ = true;
  for_each_copy([&](const ParameterGroup& group, Group& own) {
    if (!own.moment1.defined()) own.moment1 = torch::zeros_like(own.values);
    if (!own.moment2.defined() && keeps_second_moment(group.rule)) own.moment2 = torch::zeros_like(own.values);
    if (group.rule == UpdateRule::adamw)
      return adamw(group, own.values, own.gradients, own.moment1, own.moment2, arena_.updates(), context);
    if (!own.rate.defined()) own.rate = torch::empty({}, own.values.options()), own.scale = own.rate.clone();
    own.rate.fill_(group.learning_rate * context.lr_factor);
    own.scale.fill_(context.gradient_scale);
    own.recorded.run([&] { muon(group, own.values, own.gradients, own.moment1, own.rate, own.scale); });
  });
}

void DeviceParameters::average(double decay) {
  arena_is_old_ = true;
  for_each_copy([&](const ParameterGroup&, Group& own) {
    if (own.averages.defined()) own.averages.lerp_(own.values, fresh_part(arena_, decay));
  });
}

void DeviceParameters::swap_averages() {
  arena_is_old_ = true;
  for_each_copy([](const ParameterGroup&, Group& own) {
    if (!own.averages.defined()) return;
    const Tensor values = own.values.clone();
    own.values.copy_(own.averages);
    own.averages.copy_(values);
  });
}

void DeviceParameters::give_gradients() {
  for_each_copy([](ParameterGroup& group, Group& own) { view_of(group.gradients).copy_(own.gradients); });
}

void DeviceParameters::take_gradients() {
  for_each_copy([](ParameterGroup& group, Group& own) { own.gradients.copy_(view_of(group.gradients)); });
}

void DeviceParameters::give_back() {
  if (!std::exchange(arena_is_old_, false)) return;
  const auto copy = [](const Tensor& from, AlignedFloats& to) {
    if (!from.defined()) return;
    if (to.empty()) to = AlignedFloats(from.numel());
    view_of(to).copy_(from);
  };
  for_each_copy([&](ParameterGroup& group, Group& own) {
    copy(own.values, group.values);
    copy(own.moment1, group.moment1);
    copy(own.moment2, group.moment2);
    copy(own.averages, group.averages);
  });
}

void DeviceParameters::take_over() {
  arena_is_old_ = false;
  const auto copy = [this](const AlignedFloats& from, Tensor& to) {
    if (to.defined())  // recordings know this tensor
      from.empty() ? to.zero_() : to.copy_(view_of(from));
    else if (!from.empty())
      to = view_of(from).to(device_);
  };
  for_each_copy([&](const ParameterGroup& group, Group& own) {
    copy(group.values, own.values);
    copy(group.moment1, own.moment1);
    copy(group.moment2, own.moment2);
    copy(group.averages, own.averages);
  });
}

}  // namespace chargpt
