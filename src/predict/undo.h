// Remembers what values were, to go back to it: for counts, which forget what they learned from a text.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace chargpt {

class Undo {
 public:
  /// `value`, about to change; its address must stay until undo().
  template <class T>
  T& changing(T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
    if (!remembers_) return value;
    Kept kept{&value, 0, sizeof(T)};
    std::memcpy(&kept.bytes, &value, sizeof(T));
    kept_.push_back(kept);
    return value;
  }
  /// Remembers from here on.
  void begin() { remembers_ = true; }
  void undo() {
    for (; !kept_.empty(); kept_.pop_back()) std::memcpy(kept_.back().place, &kept_.back().bytes, kept_.back().size);
  }

 private:
  struct Kept {
    void* place;
    std::uint64_t bytes;
    std::size_t size;
  };
  bool remembers_ = false;
  std::vector<Kept> kept_;
};

}  // namespace chargpt
