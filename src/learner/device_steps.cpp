#include "learner/device_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/line_of.h"
#include "model/dropout.h"
#include "optimizer/optimizer.h"

namespace chargpt {

using torch::Tensor;

namespace {

enum Column : std::int64_t { loss_column, norm_column, applied_column, columns };

/// What the recording of a step is judged by, beside one taken without it.
struct Trial {
  double loss, norm;
  bool applied;
  std::vector<Tensor> values;
};

double distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow((a[i] - b[i]).norm().item<double>(), 2);
  return std::sqrt(squares);
}

std::vector<Tensor> values_of(const ParameterArena& arena) {
  std::vector<Tensor> values;
  for (const ParameterGroup& group : arena.groups()) values.push_back(group.values.clone());
  return values;
}

/// One queue runs the same kernels either way, so they agree but for the choice of a kernel; a stale pointer does not.
bool agree(const Trial& step, const Trial& recorded, const std::vector<Tensor>& before) {
  if (step.applied != recorded.applied) return false;
  if (!step.applied) return true;
  return std::abs(step.loss - recorded.loss) <= 1e-3 * std::abs(step.loss) &&
         std::abs(step.norm - recorded.norm) <= 1e-2 * step.norm + 1e-6 &&
         distance(step.values, recorded.values) <= 0.05 * distance(step.values, before) + 1e-12;
}

}  // namespace

DeviceSteps::DeviceSteps(DeviceEngine& engine, ParameterArena& arena, AveragedWeights& averages,
                         const TrainConfig& train, WorkRecorder recorder)
    : engine_(engine), arena_(arena), averages_(averages), train_(train), recorder_(std::move(recorder)) {
  const torch::TensorOptions there(engine.device());
  factors_ = torch::zeros({most_at_once}, there);
  results_ = torch::zeros({most_at_once, columns}, there);
  numbers_ = torch::arange(most_at_once, there.dtype(torch::kInt64)).unsqueeze(1);
  place_ = torch::zeros({1}, there.dtype(torch::kInt64));
  updates_ = torch::zeros({}, there);
  stopped_ = torch::zeros({}, there.dtype(torch::kBool));
}

std::int64_t DeviceSteps::worthwhile() const {
  constexpr double seconds = 0.1;  // so long a stop may have to wait
  if (seconds_per_step_ <= 0) return 1;
  return std::clamp(static_cast<std::int64_t>(seconds / seconds_per_step_), std::int64_t{1}, most_at_once);
}

std::string DeviceSteps::take_notice() {
  return std::exchange(notice_, {});
}

/// Puts what the steps depend on where they look for it.
void DeviceSteps::start(std::int64_t first, std::span<const double> lr_factors, const StepWindows& windows) {
  const torch::NoGradGuard no_grad;
  const std::int64_t steps = std::ssize(lr_factors);
  const Tensor& text = engine_.text(windows.text);
  if (!starts_.defined() || !text.is_same(text_) || T_ != windows.T ||
      starts_.sizes() != torch::IntArrayRef{most_at_once, windows.micro_batches, windows.B}) {
    text_ = text;
    T_ = windows.T;
    starts_ = torch::zeros({most_at_once, windows.micro_batches, windows.B}, place_.options());
    recorded_.reset();
    recorded_memory_.clear();
  }
  const Tensor starts = torch::empty({steps, windows.micro_batches, windows.B}, torch::kInt64);
  std::ranges::copy(windows.starts, starts.mutable_data_ptr<std::int64_t>());
  starts_.narrow(0, 0, steps).copy_(starts);
  const Tensor factors = torch::empty({steps});
  std::ranges::transform(lr_factors, factors.mutable_data_ptr<float>(), [](double f) { return static_cast<float>(f); });
  factors_.narrow(0, 0, steps).copy_(factors);
  place_.zero_();
  stopped_.zero_();
  updates_.fill_(static_cast<double>(arena_.updates()));
  key_ = {.seed = static_cast<std::uint64_t>(train_.seed), .step = first};
}

/// One step, as work that can be recorded: neither waits nor transfers.
void DeviceSteps::step() {
  std::vector<DeviceWindows> micro_batches;
  for (const Tensor& starts : starts_.index_select(0, place_)[0].unbind()) micro_batches.push_back({text_, starts, T_});
  const Tensor loss = engine_.leave_gradients(micro_batches, key_);
  const torch::NoGradGuard no_grad;
  const Tensor norm = arena_.gradient_norm();
  const Tensor applies = loss.isfinite().logical_and(norm.isfinite()).logical_and(stopped_.logical_not());
  const Tensor updates = updates_ + 1;
  device_update(arena_, train_,
                {.lr_factor = factors_.index_select(0, place_).squeeze(0),
                 .gradient_scale = device_clipping_factor(norm, train_.grad_clip),
                 .updates = updates,
                 .applies = applies});
  averages_.follow_on_device(arena_, updates, applies);
  const Tensor row = at::stack({loss, norm, applies.to(loss.scalar_type())});
  results_.copy_(at::where(numbers_ == place_, row, results_));
  updates_.add_(applies);
  stopped_.copy_(applies.logical_not());
  place_.add_(1);
}

void DeviceSteps::repeat() {
  seed_dropout(engine_.device(), key_);
  if (recorded_)
    recorded_->repeat();
  else
    step();
  ++key_.step;
}

/// Changes where a buffer was made anew: what was recorded then works on memory that is no longer the model's.
std::vector<const void*> DeviceSteps::memory() const {
  std::vector<const void*> places;
  for (const ParameterGroup& group : arena_.groups())
    for (const Tensor* buffer : {&group.values, &group.gradients, &group.moment1, &group.moment2})
      places.push_back(buffer->defined() ? buffer->const_data_ptr() : nullptr);
  for (const Tensor& buffer : averages_.buffers())
    places.push_back(buffer.defined() ? buffer.const_data_ptr() : nullptr);
  return places;
}

Tensor DeviceSteps::rows(std::int64_t count) const {
  return results_.narrow(0, 0, count).cpu().to(torch::kFloat64);
}

/// Tries a step first, for nothing may be done for the first time while it is recorded, and believes the recording once
/// it has led to the same weights. Leaves no trace in weights, moments and averages.
void DeviceSteps::make_recording(std::int64_t first, std::span<const double> lr_factors, const StepWindows& windows) {
  recorded_.reset();
  recorded_memory_ = memory();
  const ArenaSnapshot arena = arena_.snapshot();
  const AveragedWeights averages = averages_.copy();
  const std::vector<Tensor> before = values_of(arena_);
  const auto put_back = [&] {
    arena_.restore(arena);
    averages_.put_back(averages);
    start(first, lr_factors, windows);
  };
  const auto tried = [&] {
    repeat();
    const Tensor row = rows(1)[0];
    Trial trial{.loss = row[loss_column].item<double>(),
                .norm = row[norm_column].item<double>(),
                .applied = row[applied_column].item<double>() != 0,
                .values = values_of(arena_)};
    put_back();
    return trial;
  };
  const Trial step_itself = tried();
  try {
    recorded_ = recorder_(engine_.device(), [this] { step(); });
    const Trial repeated = tried();
    if (agree(step_itself, repeated, before)) return;
    notice_ = line_of("steps are launched one by one: what was recorded of one has a loss of ", repeated.loss,
                      ", the step itself ", step_itself.loss);
  } catch (const std::exception& failure) {
    const std::string what = failure.what();
    notice_ = "steps are launched one by one, since one could not be recorded: " + what.substr(0, what.find('\n'));
  }
  recorded_.reset();
  put_back();
}

std::vector<StepResult> DeviceSteps::take(std::int64_t first, std::span<const double> lr_factors,
                                          const StepWindows& windows) {
  const std::int64_t steps = std::ssize(lr_factors);
  const DeviceStream::Use use(engine_.stream());
  for (ParameterGroup& group : arena_.groups()) start_moments(group);
  start(first, lr_factors, windows);
  if (recorded_memory_ != memory()) make_recording(first, lr_factors, windows);
  const double begun = steady_seconds();
  for (std::int64_t i = 0; i < steps; ++i) repeat();
  const Tensor figures = rows(steps);
  seconds_per_step_ = (steady_seconds() - begun) / static_cast<double>(steps);

  std::vector<StepResult> results;
  for (std::int64_t i = 0; i < steps; ++i) {
    const Tensor row = figures[i];
    results.push_back({.loss = row[loss_column].item<double>(),
                       .grad_norm = row[norm_column].item<double>(),
                       .updated = row[applied_column].item<double>() != 0,
                       .seconds = steps > 1 ? std::optional(seconds_per_step_) : std::nullopt});
    if (results.back().updated) {
      arena_.count_update();
      continue;
    }
    if (i + 1 < steps) {  // the steps after it have left other gradients
      const std::size_t each = static_cast<std::size_t>(windows.micro_batches * windows.B);
      start(first + i, lr_factors.subspan(static_cast<std::size_t>(i), 1),
            {windows.text, windows.T, windows.B, windows.micro_batches,
             windows.starts.subspan(static_cast<std::size_t>(i) * each, each)});
      repeat();
    }
    break;
  }
  return results;
}

}  // namespace chargpt
