// First weights.
#include "model/initialise.h"

#include <ATen/CPUGeneratorImpl.h>

#include "model/layers.h"
#include "variants.h"
//
#include "test.h"

namespace chargpt {
namespace {

using torch::Tensor;

at::Generator seeded(std::uint64_t seed) {
  return at::detail::createCPUGenerator(seed);
}

TEST_CASE("pytorch initialisation draws what PyTorch's constructors draw, in the order of registration") {
  const auto model = make_model(small_config("masked"), test_vocab, 1);
  initialise_pytorch(*model, seeded(7));
  at::manual_seed(7);
  const torch::nn::Embedding wte(test_vocab, 24), wpe(8, 24);
  const torch::nn::Linear head(24, test_vocab);
  const auto parameters = model->named_parameters();
  CHECK(parameters["wte.weight"].equal(wte->weight));
  CHECK(parameters["wpe.weight"].equal(wpe->weight));
  CHECK(parameters["lm_head.weight"].equal(head->weight));
  CHECK(parameters["lm_head.bias"].equal(head->bias));
}

TEST_CASE("one layer at a time, a generator goes on where it was") {
  at::manual_seed(8);
  const torch::nn::Linear first(5, 3), second(3, 9);
  const auto generator = seeded(8);
  torch::nn::Linear a(5, 3), b(3, 9);
  initialise_pytorch(*a, generator);
  initialise_pytorch(*b, generator);
  CHECK(a->weight.equal(first->weight));
  CHECK(b->bias.equal(second->bias));
}

TEST_CASE("an own head is initialised as the linear layer that it is") {
  Head head(5, 3, /*tied=*/false, /*bias=*/true);
  initialise_pytorch(*head, seeded(9));
  at::manual_seed(9);
  const torch::nn::Linear linear(5, 3);
  CHECK(head->weight.equal(linear->weight));
  CHECK(head->bias.equal(linear->bias));
}

/// A model wide enough for its standard deviations to be measured within 2 %.
ModelConfig wide_config() {
  ModelConfig config;
  config.n_layer = 8;
  config.n_embd = 256;
  config.bias = true;
  config.tie_weights = false;
  return config;
}

TEST_CASE("gpt2 initialisation: 0.02, residual layers by 1/sqrt(2 L), biases 0, norms 1 and 0") {
  const auto model = make_model(wide_config(), 256, 1);
  for (const auto& parameter : model->named_parameters()) {
    const std::string& name = parameter.key();
    INFO(name);
    if (name.ends_with("bias"))
      CHECK(parameter->abs().max().item<float>() == 0);
    else if (name.find("ln_") != std::string::npos)
      CHECK(parameter->equal(at::ones({256})));
    else
      CHECK(parameter->std().item<double>() == Approx(name.ends_with("c_proj.weight") ? 0.005 : 0.02).epsilon(0.02));
  }
}

TEST_CASE("residual initialisation: zero silences every branch, plain leaves it alone") {
  ModelConfig config = wide_config();
  config.residual_init = ResidualInit::zero;
  auto silent = make_model(config, 256, 1)->named_parameters();
  CHECK(silent["transformer.h.3.attn.c_proj.weight"].count_nonzero().item<std::int64_t>() == 0);
  CHECK(silent["transformer.h.3.mlp.c_proj.weight"].count_nonzero().item<std::int64_t>() == 0);
  CHECK(silent["transformer.h.3.mlp.c_fc.weight"].std().item<double>() == Approx(0.02).epsilon(0.02));

  config.residual_init = ResidualInit::plain;
  auto plain = make_model(config, 256, 1)->named_parameters();
  CHECK(plain["transformer.h.3.attn.c_proj.weight"].std().item<double>() == Approx(0.02).epsilon(0.02));

  config.residual_init = ResidualInit::zero;
  config.output_projection = false;
  auto unprojected = make_model(config, 256, 1)->named_parameters();
  CHECK(unprojected["transformer.h.3.attn.c_attn.weight"].std().item<double>() == Approx(0.02).epsilon(0.02));
  CHECK(unprojected["transformer.h.3.mlp.c_proj.weight"].count_nonzero().item<std::int64_t>() == 0);
}

TEST_CASE("the attention model's projection ends no residual branch and is never silenced") {
  ModelConfig config = small_config("attention");
  config.residual_init = ResidualInit::zero;
  CHECK(make_model(config, test_vocab, 1)->named_parameters()["attn.c_proj.weight"].abs().max().item<double>() > 0.01);
}

TEST_CASE("init_std scales all of it") {
  ModelConfig config = small_config();
  config.init_std = 0.5;
  CHECK(make_model(config, 1000, 1)->named_parameters()["transformer.wte.weight"].std().item<double>() ==
        Approx(0.5).epsilon(0.02));
}

}  // namespace
}  // namespace chargpt
