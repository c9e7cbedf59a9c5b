#include "inference/scorer.h"

#include "inference/pack_weights.h"
#include "kernels/kernels.h"

namespace chargpt {

Scorer::Scorer(const InferenceModel& model, int threads)
    : plan_(model.plan()), team_(threads), packed_(plan_.packed_floats), weights_{model.values(), packed_.data()} {
  const cpu::Kernels& kernels = cpu::kernels();
  for (int thread = 0; thread < team_.threads(); ++thread) forwards_.emplace_back(plan_, kernels);
  team_.run([&](int thread) {
    cpu::pack_weights(plan_, weights_.values, cpu::PackedType::float32, kernels, thread, team_.threads(),
                      packed_.data());
  });
}

void Scorer::score(const WindowBatch& windows, std::span<float> losses) {
  check_windows(windows, plan_.vocab_size);
  const std::int64_t B = windows.B(), T = windows.T, threads = team_.threads();
  for (cpu::Forward& forward : forwards_) forward.prepare((B + threads - 1) / threads, T);
  team_.run([&](int thread) {
    const std::int64_t begin = B * thread / threads, end = B * (thread + 1) / threads;
    if (begin == end) return;
    const cpu::BatchSlice slice{.windows = windows.part(begin, end - begin), .first = begin};
    forwards_[static_cast<std::size_t>(thread)].losses(weights_, slice, losses.data() + begin * T);
  });
}

}  // namespace chargpt
