#include "inference/scorer.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "inference/ngram_rows.h"
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

void Scorer::check_ids(std::span<const std::int64_t> ids) const {
  const auto bad = std::ranges::find_if(ids, [this](std::int64_t id) { return id < 0 || id >= plan_.vocab_size; });
  if (bad != ids.end())
    throw Error(ExitCode::internal, "id " + std::to_string(*bad) + " is to be scored; the model has ids 0 to " +
                                        std::to_string(plan_.vocab_size - 1));
}

void Scorer::find_rows(const WindowBatch& windows) {
  ngram_rows_.resize(plan_.tables.size());
  row_pointers_.clear();
  for (std::vector<std::int64_t>& rows : ngram_rows_) {
    rows.resize(windows.inputs.size());
    row_pointers_.push_back(rows.data());
  }
  if (ngram_rows_.empty()) return;
  std::vector<std::int64_t*> of_window(ngram_rows_.size());
  const auto T = static_cast<std::size_t>(windows.T);
  for (std::size_t first = 0; first < windows.inputs.size(); first += T) {
    for (std::size_t table = 0; table < ngram_rows_.size(); ++table)
      of_window[table] = ngram_rows_[table].data() + first;
    ngram_rows(plan_.ngrams, plan_.vocab_size, windows.inputs.subspan(first, T), {}, of_window);
  }
}

void Scorer::score(const WindowBatch& windows, std::span<float> losses) {
  check_ids(windows.inputs);
  check_ids(windows.targets);
  find_rows(windows);
  const std::int64_t B = windows.B(), T = windows.T, threads = team_.threads();
  for (cpu::Forward& forward : forwards_) forward.prepare((B + threads - 1) / threads, T);
  team_.run([&](int thread) {
    const std::int64_t begin = B * thread / threads, end = B * (thread + 1) / threads;
    if (begin == end) return;
    const cpu::BatchSlice slice{.inputs = windows.inputs.data() + begin * T,
                                .targets = windows.targets.data() + begin * T,
                                .first = begin,
                                .count = end - begin,
                                .T = T,
                                .rows = row_pointers_};
    forwards_[static_cast<std::size_t>(thread)].losses(weights_, slice, losses.data() + begin * T);
  });
}

}  // namespace chargpt
