#include "inference/forward_team.h"

#include "base/error.h"

namespace chargpt::cpu {

ForwardTeam::ForwardTeam(const Plan& plan, const std::vector<const float*>& values, int threads)
    : plan_(plan), team_(threads), weights_{.values = values, .packed = AlignedFloats(plan.packed_floats)} {
  for (int thread = 0; thread < threads; ++thread) passes_.emplace_back(plan_, weights_);
  pack();
}

void ForwardTeam::pack() {
  team_.run([this](int thread) { pack_weights(plan_, weights_, /*bf16=*/nullptr, thread, threads()); });
}

void observe(const InferenceModel& model, std::span<const std::int64_t> ids, const Observer& observer) {
  const Plan& plan = model.plan();
  const std::int64_t T = std::ssize(ids), start = 0;
  if (T < 1 || T > plan.block_size)
    throw Error(ExitCode::internal, "a window of ", T, " ids; the model takes 1 to ", plan.block_size);
  check_ids(ids, plan.vocab_size, "a window");
  const std::vector<std::uint32_t> stored(ids.begin(), ids.end());
  ForwardTeam team(plan, model.values(), 1);
  Forward& pass = team.pass(0);
  pass.prepare(1, T);
  pass.observe({.tokens = TokenView(stored.data(), sizeof stored[0], T), .starts = {&start, 1}, .T = T}, observer);
}

}  // namespace chargpt::cpu
