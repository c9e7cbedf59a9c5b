#include "inference/forward_team.h"

#include <string>

#include "base/error.h"
#include "inference/pack_weights.h"

namespace chargpt::cpu {

ForwardTeam::ForwardTeam(const Plan& plan, const std::vector<const float*>& values, const Kernels& kernels, int threads)
    : plan_(plan),
      kernels_(kernels),
      team_(threads),
      packed_(plan.packed_floats),
      weights_{.values = values, .packed = packed_.data()} {
  for (int thread = 0; thread < threads; ++thread) passes_.emplace_back(plan, kernels);
  pack();
}

void ForwardTeam::pack() {
  team_.run([this](int thread) {
    pack_weights(plan_, weights_.values, PackedType::float32, kernels_, thread, threads(), packed_.data());
  });
}

void observe(const InferenceModel& model, std::span<const std::int64_t> ids, const Observer& observer) {
  const Plan& plan = model.plan();
  const std::int64_t T = std::ssize(ids), start = 0;
  if (T < 1 || T > plan.block_size)
    throw Error(ExitCode::internal,
                "a window of " + std::to_string(T) + " ids; the model takes 1 to " + std::to_string(plan.block_size));
  check_ids(ids, plan.vocab_size, "a window");
  const std::vector<std::uint32_t> stored(ids.begin(), ids.end());
  ForwardTeam team(plan, model.values(), kernels(), 1);
  Forward& pass = team.pass(0);
  pass.prepare(1, T);
  pass.observe(team.weights(), {.tokens = TokenView(stored.data(), sizeof stored[0], T), .starts = {&start, 1}, .T = T},
               observer);
}

}  // namespace chargpt::cpu
