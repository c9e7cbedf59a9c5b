// Sums on a GPU in one order, so that a run repeats bit for bit. Knows no layer.
#pragma once

#include <torch/types.h>

#include <exception>
#include <string>
#include <utility>

namespace c10 {
class WarningHandler;
}

namespace chargpt {

/// While it lives, operations that a GPU's threads would add up in whatever order they come (rows of an embedding's
/// gradient, attention's backward pass) do so in one. On the CPU, which has one order as it is, nothing is set.
class OneOrder {
 public:
  /// Operations that know no such way throw if it is strict, and else go on as they are, without a word. So, unless it
  /// is strict, do some that know one (LibTorch's memory-efficient attention).
  OneOrder(const torch::Device& device, bool strict);
  ~OneOrder();
  OneOrder(const OneOrder&) = delete;
  OneOrder& operator=(const OneOrder&) = delete;

 private:
  bool sets_, before_, warn_only_before_, fill_before_;
  c10::WarningHandler* handler_before_;
};

/// Runs work in one order, strictly as long as that is possible.
class OrderedWork {
 public:
  explicit OrderedWork(const torch::Device& device) : device_(device) {}

  /// `work` may be begun a second time.
  template <class Work>
  auto run(const Work& work) {
    if (strict_) try {
        const OneOrder one_order(device_, /*strict=*/true);
        return work();
      } catch (const std::exception& failure) {
        if (!is_lack_of_order(failure)) throw;
        give_up(failure);
      }
    const OneOrder as_far_as_possible(device_, /*strict=*/false);
    return work();
  }
  /// What the user should know of it; empty: nothing. Tells it once.
  std::string take_notice() { return std::exchange(notice_, {}); }

 private:
  static bool is_lack_of_order(const std::exception& failure);
  void give_up(const std::exception& failure);

  torch::Device device_;
  bool strict_ = true;
  std::string notice_;
};

}  // namespace chargpt
