#include "network/sequence_cache.h"

#include <algorithm>
#include <cstring>

namespace chargpt::cpu {
namespace {

constexpr long conv_places = 2;

}  // namespace

SequenceCache::SequenceCache(const Plan& plan)
    : plan_(plan), k_(*plan.kernels), key_positions_(static_cast<long>(rounded_up(plan.block_size, k_.panel_width))) {}

std::int64_t SequenceCache::of_head() const {
  return plan_.head_size * (key_positions_ + plan_.block_size);
}

std::int64_t SequenceCache::floats() const {
  return plan_.n_layer * (plan_.n_head * of_head() + conv_places * plan_.conv_width * plan_.n_embd);
}

void SequenceCache::make_room(std::int64_t slots) {
  slots_ = 0;  // valid if an allocation below throws
  keys_and_values_ = AlignedFloats();
  keys_and_values_ = AlignedFloats(slots * plan_.n_layer * plan_.n_head * of_head() + k_.slack);
  conv_inputs_ = AlignedFloats();
  conv_inputs_ = AlignedFloats(slots * plan_.n_layer * conv_places * plan_.conv_width * plan_.n_embd);
  tokens_.resize(static_cast<std::size_t>(slots * plan_.block_size));
  slots_ = slots;
}

float* SequenceCache::conv_input(long layer, Place place, std::int64_t slot, std::int64_t position) const {
  const std::int64_t rows = ((layer * slots_ + slot) * conv_places + (place == Place::mlp ? 1 : 0)) * plan_.conv_width;
  return conv_inputs_.data() + (rows + position % plan_.conv_width) * plan_.n_embd;
}

float* SequenceCache::keys(long layer, std::int64_t slot, long head) const {
  return keys_and_values_.data() + ((layer * slots_ + slot) * plan_.n_head + head) * of_head();
}

float* SequenceCache::values(long layer, std::int64_t slot, long head) const {
  return keys(layer, slot, head) + plan_.head_size * key_positions_;
}

void SequenceCache::copy(std::int64_t from, std::int64_t to) {
  const std::int64_t of_layer = plan_.n_head * of_head(),
                     of_convolutions = conv_places * plan_.conv_width * plan_.n_embd;
  for (long layer = 0; layer < plan_.n_layer; ++layer) {
    std::memcpy(keys(layer, to, 0), keys(layer, from, 0), static_cast<std::size_t>(of_layer) * sizeof(float));
    if (of_convolutions > 0)
      std::memcpy(conv_input(layer, Place::attention, to, 0), conv_input(layer, Place::attention, from, 0),
                  static_cast<std::size_t>(of_convolutions) * sizeof(float));
  }
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
