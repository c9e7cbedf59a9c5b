// A model's parameters as LibTorch tensors: views of an arena's buffers on the CPU, copies in the same layout on a GPU,
// with their own gradients, moments and averages. Independent of the forward pass.
#pragma once

#include <torch/types.h>

#include <deque>

#include "engine/optimizer.h"
#include "libtorch/recorded_work.h"
#include "model/language_model.h"
#include "network/arena.h"

namespace chargpt {

class DeviceParameters {
 public:
  /// Turns the model's parameters and gradients into views of buffers with the arena's values, and moves the model to
  /// the device. Throws Error internal if its parameters differ.
  DeviceParameters(LanguageModel& model, ParameterArena& arena, const torch::Device& device);

  void zero_gradients();
  /// L2 norm as a 0-d tensor on the device.
  torch::Tensor gradient_norm() const;

  // Only for a GPU:
  /// Updates the device's copies, and increments the arena's number of updates.
  void update(const UpdateContext& context);
  void average(double decay);
  void swap_averages();
  /// Copy between the device and the arena; do nothing on the CPU.
  void give_gradients();
  void take_gradients();
  void give_back();
  void take_over();

 private:
  /// The state of a group's update by Muon.
  struct Group {
    explicit Group(const torch::Device& device) : recorded(device) {}
    torch::Tensor rate, scale;  ///< learning rate and gradient scale of this step, 0-d
    RecordedWork recorded;
  };

  ParameterArena& arena_;
  torch::Device device_;
  torch::Tensor values_, gradients_;
  torch::Tensor moment1_, moment2_, averages_;  ///< undefined if the arena does not have them
  std::deque<Group> groups_;
  bool arena_is_old_ = false;  ///< the device's copies are newer
};

/// Orthogonalises each matrix of a batch: moves its singular values close to 1, as in engine/muon.h. Shape: (k, r, c)
/// -> (k, r, c); fastest if r <= c.
torch::Tensor orthogonalised(const torch::Tensor& matrices);

}  // namespace chargpt
