#include "inference/sequence_cache.h"

#include <algorithm>
#include <cstring>

namespace chargpt::cpu {
namespace {

long key_positions(const Plan& plan, const Kernels& kernels) {
  return static_cast<long>(rounded_up(plan.block_size, kernels.panel_width));
}

constexpr long conv_places = 2;

}  // namespace

SequenceCache::SequenceCache(const Plan& plan, const Kernels& kernels)
    : k_(kernels),
      n_layer_(plan.n_layer),
      n_head_(plan.n_head),
      head_size_(plan.head_size),
      block_size_(plan.block_size),
      key_positions_(key_positions(plan, kernels)),
      conv_width_(plan.conv_width),
      n_embd_(plan.n_embd) {}

std::int64_t SequenceCache::floats(const Plan& plan, const Kernels& kernels) {
  return plan.n_layer * (plan.attention_width * (key_positions(plan, kernels) + plan.block_size) +
                         conv_places * plan.conv_width * plan.n_embd);
}

void SequenceCache::make_room(std::int64_t slots) {
  slots_ = 0;  // until there is memory for more
  const std::int64_t of_head = head_size_ * (key_positions_ + block_size_);
  keys_and_values_ = AlignedFloats();
  keys_and_values_ = AlignedFloats(slots * n_layer_ * n_head_ * of_head + k_.slack);
  conv_inputs_ = AlignedFloats();
  conv_inputs_ = AlignedFloats(slots * n_layer_ * conv_places * conv_width_ * n_embd_);
  tokens_.resize(static_cast<std::size_t>(slots * block_size_));
  slots_ = slots;
}

float* SequenceCache::conv_input(long layer, ConvolutionPlace place, std::int64_t slot, std::int64_t position) const {
  const std::int64_t rows = ((layer * slots_ + slot) * conv_places + static_cast<long>(place)) * conv_width_;
  return conv_inputs_.data() + (rows + position % conv_width_) * n_embd_;
}

float* SequenceCache::keys(long layer, std::int64_t slot, long head) const {
  return keys_and_values_.data() +
         ((layer * slots_ + slot) * n_head_ + head) * head_size_ * (key_positions_ + block_size_);
}

float* SequenceCache::values(long layer, std::int64_t slot, long head) const {
  return keys(layer, slot, head) + head_size_ * key_positions_;
}

void SequenceCache::copy(std::int64_t from, std::int64_t to) {
  const std::int64_t of_layer = n_head_ * head_size_ * (key_positions_ + block_size_),
                     of_convolutions = conv_places * conv_width_ * n_embd_;
  for (long layer = 0; layer < n_layer_; ++layer) {
    std::memcpy(keys(layer, to, 0), keys(layer, from, 0), static_cast<std::size_t>(of_layer) * sizeof(float));
    if (of_convolutions > 0)
      std::memcpy(conv_input(layer, ConvolutionPlace::attention, to, 0),
                  conv_input(layer, ConvolutionPlace::attention, from, 0),
                  static_cast<std::size_t>(of_convolutions) * sizeof(float));
  }
}

void SequenceCache::store(long layer, std::int64_t slot, long head, long first, long count, const float* k,
                          const float* v, long ld) {
  float* const panels = keys(layer, slot, head);
  for (long done = 0; done < count;) {
    const long at = first + done, inside = at % k_.panel_width, some = std::min(count - done, k_.panel_width - inside);
    k_.transpose(some, head_size_, k + done * ld, ld, panels + (at - inside) * head_size_ + inside, k_.panel_width);
    done += some;
  }
  k_.copy(count, head_size_, v, ld, values(layer, slot, head) + first * head_size_, head_size_);
}

}  // namespace chargpt::cpu
