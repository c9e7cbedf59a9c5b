// The engine for a GPU: LibTorch's autograd, with the text on the device and a step that can be recorded (recording.h).
// It runs on the CPU too, where it is no faster than autograd: so it is tested where there is no GPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/recording.h"
#include "model/one_order.h"

namespace chargpt {

/// Windows of T of a text on a device, as WindowBatch there.
struct DeviceWindows {
  torch::Tensor text;    ///< (n) uint8 or int32
  torch::Tensor starts;  ///< (B) int64
  std::int64_t T = 0;
};

/// Texts on a device: each is copied there once. A text must stay in memory, unchanged, as long as this lives.
class DeviceTexts {
 public:
  explicit DeviceTexts(const torch::Device& device) : device_(device) {}
  /// Its ids, (n) uint8 or int32.
  const torch::Tensor& of(TokenView tokens);
  /// Inputs and targets: 2 x (B, T) int64.
  std::pair<torch::Tensor, torch::Tensor> ids(const DeviceWindows& windows);

 private:
  torch::Device device_;
  std::map<std::pair<const void*, std::int64_t>, torch::Tensor> texts_;
  torch::Tensor offsets_;  ///< 0, 1, … T
};

class DeviceEngine : public Engine {
 public:
  /// `model` and `arena`, on one device, must outlive it.
  DeviceEngine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train);

  std::string_view name() const override { return "cuda"; }
  std::string notice() const override;
  Gradients gradients(const GradientInput& input) override;
  void score(const WindowBatch& windows, std::span<float> losses) override;
  std::string take_notice() override { return ordered_.take_notice(); }
  DeviceEngine* recordable() override { return this; }

  const torch::Device& device() const { return device_; }
  const DeviceStream& stream() const { return stream_; }
  const torch::Tensor& text(TokenView tokens) { return texts_.of(tokens); }
  /// The work of gradients(), to be recorded: leaves in the arena the gradient of the mean loss over all micro-batches
  /// times `part`, and returns that, a 0-d tensor on the device. Neither waits nor transfers; after seed_dropout().
  torch::Tensor leave_gradients(std::span<const DeviceWindows> micro_batches, DropoutKey key, double part = 1);

 private:
  /// Scores windows of one text and shape.
  struct Scoring {
    torch::Tensor starts, losses;  ///< (B) int64, (B*T)
    std::unique_ptr<RecordedWork> work;
  };
  torch::Tensor summed_gradients(std::span<const DeviceWindows> micro_batches, DropoutKey key, double part);
  Scoring& scoring_of(const WindowBatch& windows);

  LanguageModel& model_;
  ParameterArena& arena_;
  Dtype dtype_;
  torch::Device device_;
  DeviceStream stream_;
  DeviceTexts texts_;
  OrderedWork ordered_;
  std::map<std::pair<const void*, std::int64_t>, Scoring> scorings_;
};

}  // namespace chargpt
