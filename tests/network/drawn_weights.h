// Weights for a model of any options, without LibTorch and without a file.
#pragma once

#include <functional>
#include <map>

#include "base/random.h"
#include "network/model.h"
#include "network/variants.h"

namespace chargpt {

/// Weights drawn for whatever a model asks for; each buffer ends where its parameter does.
class DrawnWeights {
 public:
  explicit DrawnWeights(std::uint64_t seed = 1) : random_(seed, Purpose::initialisation) {}
  const float* operator()(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::size_t numel = 1;
    for (const std::int64_t size : shape) numel *= static_cast<std::size_t>(size);
    std::vector<float>& values = weights_[name];
    while (values.size() < numel) values.push_back(static_cast<float>(0.4 * random_.uniform() - 0.2));
    return values.data();
  }

 private:
  RandomStream random_;
  std::map<std::string, std::vector<float>> weights_;
};

/// A model that has them.
struct DrawnModel {
  explicit DrawnModel(const ModelConfig& config = small_config(), std::int64_t vocab_size = test_vocab,
                      std::uint64_t seed = 1)
      : weights(seed), model(config, vocab_size, std::ref(weights)) {}
  DrawnWeights weights;
  InferenceModel model;
};

}  // namespace chargpt
