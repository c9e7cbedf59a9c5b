// Weights for a model of any options, without LibTorch and without a file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "inference/dimensions.h"

namespace chargpt {

inline bool contains(const std::string& name, const char* part) {
  return name.find(part) != std::string::npos;
}

/// Whether a model of these options has the parameter.
inline bool has(const ModelConfig& config, const std::string& name) {
  const bool bias = name.ends_with(".bias");
  if (contains(name, "ln_")) {
    if (config.norm == Norm::none) return false;
    return bias ? config.norm == Norm::layernorm && has_bias(config, Place::norm) : config.norm_gain;
  }
  if (!bias) return true;
  if (contains(name, "c_attn")) return has_bias(config, Place::attention);
  if (contains(name, "attn.c_proj")) return has_bias(config, Place::attention_output);
  if (contains(name, "mlp.")) return has_bias(config, Place::mlp);
  if (contains(name, "lm_head")) return config.type != "gpt" || has_bias(config, Place::head);
  return false;
}

/// Weights drawn for whatever a plan asks for; each buffer ends where its parameter does.
class DrawnWeights {
 public:
  explicit DrawnWeights(const ModelConfig& config) : config_(config) {}
  const float* operator()(const std::string& name, const std::vector<std::int64_t>& shape) {
    if (!has(config_, name)) return nullptr;
    std::size_t numel = 1;
    for (const std::int64_t size : shape) numel *= static_cast<std::size_t>(size);
    std::vector<float>& values = weights_[name];
    while (values.size() < numel) values.push_back(static_cast<float>(0.4 * random_.uniform() - 0.2));
    return values.data();
  }

 private:
  ModelConfig config_;
  RandomStream random_{1, Purpose::initialisation};
  std::map<std::string, std::vector<float>> weights_;
};

}  // namespace chargpt
