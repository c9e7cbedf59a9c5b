#include "predict/network.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "network/model_types.h"
#include "network/sequence_cache.h"

namespace chargpt {

Context context_of(const ModelConfig& config, Context context) {
  constexpr std::int64_t short_window = 32;  // running it again costs little
  if (context == Context::automatic)
    return can_slide(config) ? Context::slide : config.block_size < short_window ? Context::full : Context::half;
  if (context == Context::slide && !can_slide(config))
    throw Error(ExitCode::usage, "a sliding context needs model.position rope or none, which depend only on relative ",
                "positions; this model has ", enum_name(config.position), ": use full or half");
  return context;
}

std::int64_t kept_tokens(Context context, std::int64_t block_size) {
  if (context == Context::slide) return block_size;
  return context == Context::full ? block_size - 1 : block_size / 2;
}

NetworkPredictor::NetworkPredictor(const InferenceModel& model, int threads, Context context)
    : model_(model),
      kept_(kept_tokens(context_of(model.config(), context), model.block_size())),
      team_(model.plan(), model.values(), threads) {}

// ---- sequences

Predictor::Rows NetworkPredictor::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  const auto seen = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(ids), block_size()));
  if (!decoder_) decoder_.emplace(team_);
  return {decoder_->start(ids.last(seen), sequences), decoder_->stride()};
}

Predictor::Rows NetworkPredictor::advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) {
  decoder_->keep(rows);
  return {decoder_->append(ids, kept_), decoder_->stride()};
}

/// The number of sequences whose keys and values fit in each thread's part of the caches, because every new symbol
/// reads all of them. If the weights alone fill the caches, keys and values come from memory anyway: then the number
/// for which reading the weights, once per step and thread, is a quarter of the work. Equal for all threads, so that
/// they do not wait for each other.
std::int64_t NetworkPredictor::at_once() const {
  constexpr double of_caches = 3.5 * (1 << 20), large = 16 << 20, most = 256 << 20;  // bytes
  const auto bytes_of = [](std::int64_t floats) { return static_cast<double>(floats) * sizeof(float); };
  const cpu::Plan& plan = model_.plan();
  const double weights = bytes_of(plan.packed_floats), of_thread = weights > large ? 4 * weights : of_caches;
  const double sequence = std::max(1.0, bytes_of(cpu::SequenceCache(plan).floats()));
  const auto for_thread = static_cast<std::int64_t>(std::min(of_thread, most / threads()) / sequence);
  return threads() * std::max<std::int64_t>(1, for_thread);
}

// ---- windows

void NetworkPredictor::score(const WindowBatch& windows, std::span<float> losses) {
  team_.score(windows, losses.data(), /*logits=*/nullptr);
}

void NetworkPredictor::logits(const WindowBatch& windows, std::span<float> logits) {
  team_.score(windows, /*losses=*/nullptr, logits.data());
}

}  // namespace chargpt
