#include "teaching_models.h"

#include <torch/types.h>

#include "config/load.h"
#include "test.h"

namespace chargpt::seed {

Config ladder(const std::string& rung) {
  return load_config("ladder/" + rung).config;
}

ModelConfig resized(const std::string& rung, std::int64_t n_embd, std::int64_t block_size, std::int64_t n_layer) {
  ModelConfig config = ladder(rung).model;
  config.n_embd = n_embd;
  config.mlp_size = 0;
  config.block_size = block_size;
  config.n_layer = n_layer;
  return config;
}

void set_parameter(torch::nn::Module& module, const std::string& name, const torch::Tensor& value) {
  const torch::NoGradGuard no_grad;
  auto parameters = module.named_parameters();
  INFO(name);
  REQUIRE(parameters.contains(name));
  REQUIRE(parameters[name].sizes() == value.sizes());
  parameters[name].copy_(value);
}

torch::Tensor packed(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value) {
  return torch::cat({query, key, value});
}

}  // namespace chargpt::seed
