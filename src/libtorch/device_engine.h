// An engine whose parameters are LibTorch tensors: views of the arena's buffers on the CPU; on a GPU copies in the same
// layout, with their own gradients, moments and averages, which it updates there. Independent of the forward pass.
#pragma once

#include <torch/types.h>

#include <vector>

#include "engine/engine.h"
#include "libtorch/recorded_work.h"
#include "model/language_model.h"

namespace chargpt {

class DeviceEngine : public Engine {
 public:
  void update(const UpdateContext& context) override;
  void average(double decay) override;
  void swap_averages() override;
  void give_gradients() override;
  void take_gradients() override;
  void give_back() override;
  void take_over() override;

 protected:
  /// Turns the model's parameters and gradients into views of buffers with the arena's values, and moves the model to
  /// the device. Throws Error internal if its parameters differ.
  DeviceEngine(LanguageModel& model, const EngineRequest& request);

  const torch::Device device_;
  torch::Tensor gradients_;  ///< of all parameters, in the arena's layout

 private:
  /// The state of a group's update by Muon.
  struct Group {
    torch::Tensor rate, scale;  ///< learning rate and gradient scale of this step, 0-d
    RecordedWork recorded;
  };

  torch::Tensor values_;
  torch::Tensor moment1_, moment2_, averages_;  ///< undefined if the arena does not have them
  std::vector<Group> groups_;
  bool arena_is_old_ = false;  ///< the device's copies are newer
};

}  // namespace chargpt
