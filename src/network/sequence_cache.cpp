#include "network/sequence_cache.h"

#include <algorithm>

namespace chargpt::cpu {
namespace {

constexpr long conv_places = 2;

}  // namespace

SequenceCache::SequenceCache(const Plan& plan)
    : plan_(plan),
      k_(*plan.kernels),
      key_positions_(static_cast<long>(rounded_up(plan.block_size, k_.panel_width))),
      of_head_(plan.head_size * (key_positions_ + plan.block_size)),
      of_layer_(plan.n_head * of_head_ + conv_places * plan.conv_width * plan.n_embd) {}

void SequenceCache::make_room(std::int64_t slots) {
  slots_ = 0;  // valid if an allocation below throws
  memory_ = AlignedFloats();
  memory_ = AlignedFloats(slots * floats() + k_.slack);
  tokens_.resize(static_cast<std::size_t>(slots * plan_.block_size));
  slots_ = slots;
}

float* SequenceCache::keys(long layer, std::int64_t slot, long head) const {
  return memory_.data() + (layer * slots_ + slot) * of_layer_ + head * of_head_;
}

float* SequenceCache::values(long layer, std::int64_t slot, long head) const {
  return keys(layer, slot, head) + plan_.head_size * key_positions_;
}

float* SequenceCache::conv_input(long layer, Place place, std::int64_t slot, std::int64_t position) const {
  const std::int64_t row = (place == Place::mlp ? plan_.conv_width : 0) + position % plan_.conv_width;
  return keys(layer, slot, plan_.n_head) + row * plan_.n_embd;  // behind those of all heads
}

void SequenceCache::copy(std::int64_t from, std::int64_t to) {
  for (long layer = 0; layer < plan_.n_layer; ++layer) std::copy_n(keys(layer, from, 0), of_layer_, keys(layer, to, 0));
}

void SequenceCache::store(long layer, std::int64_t slot, long head, long first, long count, const float* k,
                          const float* v, long ld) {
  const long hs = plan_.head_size;
  float* const panels = keys(layer, slot, head);
  for (long done = 0; done < count;) {
    const long at = first + done, inside = at % k_.panel_width, some = std::min(count - done, k_.panel_width - inside);
    k_.transpose(some, hs, k + done * ld, ld, panels + (at - inside) * hs + inside, k_.panel_width);
    done += some;
  }
  k_.copy(count, hs, v, ld, values(layer, slot, head) + first * hs, hs);
}

}  // namespace chargpt::cpu
