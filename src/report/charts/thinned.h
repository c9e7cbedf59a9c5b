// A list that may grow without end in bounded memory. Knows no kind of item.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace chargpt {

/// At most `most` items (an even number): all that were added, or, once they are more, as many groups of neighbours of
/// one size, each merged into one item.
template <class Item>
class Thinned {
 public:
  /// The item for two groups, each of so many, the first before the second.
  using Merge = Item (*)(const Item& first, double of_first, const Item& second, double of_second);

  Thinned(std::size_t most, Merge merge) : most_(most), merge_(merge) {}

  void add(Item item) {
    if (!items_.empty() && in_last_ < size_) {
      items_.back() = merge_(items_.back(), static_cast<double>(in_last_++), item, 1);
      return;
    }
    if (items_.size() == most_) halve();
    items_.push_back(std::move(item));
    in_last_ = 1;
  }
  void pop_back() {
    items_.pop_back();
    in_last_ = size_;
  }
  const std::vector<Item>& items() const { return items_; }

 private:
  void halve() {
    for (std::size_t i = 0; i < most_ / 2; ++i)
      items_[i] = merge_(items_[2 * i], static_cast<double>(size_), items_[2 * i + 1], static_cast<double>(size_));
    items_.resize(most_ / 2);
    size_ *= 2;
  }

  std::size_t most_;
  Merge merge_;
  std::vector<Item> items_;
  std::size_t size_ = 1, in_last_ = 0;  ///< of a group; of the last one, which may be growing
};

}  // namespace chargpt
