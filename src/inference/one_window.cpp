#include "inference/one_window.h"

#include <string>

#include "base/error.h"
#include "inference/pack_weights.h"
#include "kernels/kernels.h"

namespace chargpt::cpu {

OneWindow::OneWindow(const InferenceModel& model, std::span<const std::int64_t> ids)
    : packed_(model.plan().packed_floats) {
  const Plan& plan = model.plan();
  const std::int64_t T = std::ssize(ids);
  if (T < 1 || T > plan.block_size)
    throw Error(ExitCode::internal,
                "a window of " + std::to_string(T) + " ids; the model takes 1 to " + std::to_string(plan.block_size));
  check_ids(ids, plan.vocab_size, "a window");
  ids_.assign(ids.begin(), ids.end());
  pack_weights(plan, model.values(), PackedType::float32, kernels(), 0, 1, packed_.data());
  weights_ = {.values = model.values(), .packed = packed_.data()};
  slice_.windows = {TokenView(ids_.data(), sizeof ids_[0], T), {&start_, 1}, T};
}

}  // namespace chargpt::cpu
