// Models for inference whose weights a test chooses, without LibTorch and without a file.
#pragma once

#include <algorithm>
#include <string>

#include "base/random.h"
#include "network/model.h"
#include "network/variants.h"

namespace chargpt {

/// Values by parameter, where a model's plan has them.
class LaidOutValues {
 protected:
  template <class Values>
  LaidOutValues(const ModelConfig& config, std::int64_t vocab_size, Values&& values)
      : buffer_(cpu::plan_of(config, vocab_size).floats) {
    for (const Parameter& parameter : parameter_list(config, vocab_size))
      std::copy_n(values(parameter.name, parameter.shape), parameter.numel(), parameter.at(buffer_.data()));
  }
  cpu::AlignedFloats buffer_;
};

/// `values`(name, shape): where the parameter's values are.
class TestModel : LaidOutValues, public InferenceModel {
 public:
  template <class Values>
  TestModel(const ModelConfig& config, std::int64_t vocab_size, Values&& values)
      : LaidOutValues(config, vocab_size, values),
        InferenceModel(config, cpu::plan_of(config, vocab_size), buffer_.data()) {}
};

/// A model whose weights are drawn.
struct DrawnModel {
  explicit DrawnModel(const ModelConfig& config = small_config(), std::int64_t vocab_size = test_vocab,
                      std::uint64_t seed = 1)
      : model(config, vocab_size,
              [random = RandomStream(seed, Purpose::initialisation), drawn = std::vector<float>()](
                  const std::string&, const std::vector<std::int64_t>& shape) mutable {
                drawn.resize(static_cast<std::size_t>(numel_of(shape)));
                for (float& value : drawn) value = static_cast<float>(0.4 * random.uniform() - 0.2);
                return drawn.data();
              }) {}
  TestModel model;
};

}  // namespace chargpt
