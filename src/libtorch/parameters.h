// A model's parameters as LibTorch computes with them: on the CPU views of an arena's buffers, on a GPU copies, laid
// out alike, with gradients, moments and averages of their own. Knows no forward pass.
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
  /// Turns the model's parameters, and their gradients, into views of buffers with the arena's values. The model moves
  /// to the device. Error internal unless its parameters are those of the arena.
  DeviceParameters(LanguageModel& model, ParameterArena& arena, const torch::Device& device);

  void zero_gradients();
  /// L2, 0-d, on the device.
  torch::Tensor gradient_norm() const;

  // Of a GPU alone:
  /// One update of the device's copies; the arena counts it.
  void update(const UpdateContext& context);
  void average(double decay);
  void swap_averages();
  /// Copies between here and the arena; nothing on the CPU.
  void give_gradients();
  void take_gradients();
  void give_back();
  void take_over();

 private:
  /// The state of a group's update by Muon.
  struct Group {
    explicit Group(const torch::Device& device) : recorded(device) {}
    torch::Tensor rate, scale;  ///< of the update of this step, 0-d
    RecordedWork recorded;
  };

  ParameterArena& arena_;
  torch::Device device_;
  torch::Tensor values_, gradients_;
  torch::Tensor moment1_, moment2_, averages_;  ///< undefined where the arena has none
  std::deque<Group> groups_;
  bool arena_is_old_ = false;  ///< what is here is newer
};

/// Each of a batch of matrices with its singular values brought near 1, as engine/muon.h does for one. Shape:
/// (k, r, c) -> the same; fastest with r <= c.
torch::Tensor orthogonalised(const torch::Tensor& matrices);

}  // namespace chargpt
