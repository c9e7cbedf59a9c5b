// First weights: every number a pure function of (seed, name of the parameter, place in it), and rows that belong to a
// symbol of (seed, name, symbol, place in the row): the same bits on every machine, engine and device, for any number
// of processes, and whatever other symbols a vocabulary has. Knows no arena and no text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "inference/parameter_list.h"

namespace chargpt {

/// How they are drawn; runs record it. 1: by LibTorch's generator, one parameter after the other, before there was this
/// file.
constexpr int initial_weights_scheme = 2;

class InitialWeights {
 public:
  /// `symbols`: each id's own, "a"; none: ids stand for themselves. `config` must outlive it.
  InitialWeights(const ModelConfig& config, std::uint64_t seed, std::vector<std::string> symbols = {});
  /// Fills `values` (row-major) with those of `parameter`, a layer of whose weights is `fan_in` wide.
  ///
  /// gpt2: linear and embedding weights N(0, init_std), biases 0, norms 1 and 0; layers that end a residual branch as
  /// residual_init says (scaled: init_std / sqrt(2 n_layer)). Source: Radford et al. 2019, nanoGPT.
  /// pytorch: embeddings N(0, 1); linear weight and bias uniform on +-1/sqrt(in); norms 1 and 0.
  /// Convolutions begin as the identity: 0.
  void fill(const ParameterInfo& parameter, std::int64_t fan_in, std::span<float> values) const;
  /// All of `parameters`, one after the other.
  template <class Values>
  void fill_all(const std::vector<ParameterInfo>& parameters, const Values& values_of) const {
    for (const ParameterInfo& parameter : parameters)
      fill(parameter, fan_in(parameters, parameter), values_of(parameter.name));
  }

 private:
  static std::int64_t fan_in(const std::vector<ParameterInfo>& parameters, const ParameterInfo& parameter);
  template <class Draw>
  void draw(const ParameterInfo& parameter, std::span<float> values, const Draw& number) const;
  double residual_std() const;

  const ModelConfig& config_;
  std::uint64_t seed_;
  std::vector<std::string> symbols_;
};

}  // namespace chargpt
