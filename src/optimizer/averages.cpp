#include "optimizer/averages.h"

#include <algorithm>

#include "base/error.h"

namespace chargpt {
namespace {

std::string averaged_path(const Checkpoint& checkpoint) {
  return (checkpoint.path / "averaged.safetensors").string();
}

std::vector<torch::Tensor> copies_of(const std::vector<torch::Tensor>& buffers) {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& buffer : buffers) copies.push_back(buffer.clone());
  return copies;
}

std::vector<torch::Tensor> weights_of(const ParameterArena& arena) {
  std::vector<torch::Tensor> weights;
  for (const ParameterGroup& group : arena.groups()) weights.push_back(group.values.clone());
  return weights;
}

void put(const std::vector<torch::Tensor>& buffers, ParameterArena& arena) {
  for (std::size_t i = 0; i < buffers.size(); ++i) arena.groups()[i].values.copy_(buffers[i]);
}

}  // namespace

AveragedWeights::AveragedWeights(const ParameterArena& arena, double decay) : decay_(decay) {
  if (any()) buffers_ = weights_of(arena);
}

void AveragedWeights::follow(const ParameterArena& arena) {
  const torch::NoGradGuard no_grad;
  const auto updates = static_cast<double>(arena.updates());
  const double decay = std::min(decay_, (1 + updates) / (10 + updates));
  for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].lerp_(arena.groups()[i].values, 1 - decay);
}

AveragedWeights AveragedWeights::copy() const {
  AveragedWeights other;
  other.decay_ = decay_;
  other.buffers_ = copies_of(buffers_);
  return other;
}

std::vector<TensorView> AveragedWeights::tensors(const ParameterArena& arena,
                                                 std::vector<torch::Tensor>& storage) const {
  return any() ? arena.tensors_of(buffers_, storage) : std::vector<TensorView>();
}

bool AveragedWeights::load(const ParameterArena& arena, const Checkpoint& checkpoint) {
  if (!any()) return true;
  if (checkpoint.averaged)
    arena.load_into(buffers_, *checkpoint.averaged, averaged_path(checkpoint));
  else
    buffers_ = weights_of(arena);
  return checkpoint.averaged != nullptr;
}

AveragedWeights::InUse::InUse(const AveragedWeights& averages, ParameterArena& arena) : arena_(arena) {
  if (!averages.any()) return;
  own_ = weights_of(arena);
  put(averages.buffers_, arena);
}

AveragedWeights::InUse::~InUse() {
  put(own_, arena_);
}

Weights load_weights(ParameterArena& arena, const Checkpoint& checkpoint, Weights which) {
  const Weights chosen = chosen_weights(checkpoint, which);
  arena.load_model(*checkpoint.model, (checkpoint.path / "model.safetensors").string());
  if (chosen == Weights::trained) return chosen;
  std::vector<torch::Tensor> averaged = weights_of(arena);
  arena.load_into(averaged, *checkpoint.averaged, averaged_path(checkpoint));
  put(averaged, arena);
  return chosen;
}

}  // namespace chargpt
