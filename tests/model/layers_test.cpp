// Layers and attention functions against figures that can be checked by eye.
#include "model/layers.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <limits>

#include "model/attention.h"
#include "variants.h"
//
#include "test.h"

namespace chargpt {
namespace {

using torch::Tensor;

constexpr double inf = std::numeric_limits<double>::infinity();

bool near(const Tensor& a, const Tensor& b, double tolerance = 1e-6) {
  return a.sizes() == b.sizes() && largest_difference(a.to(at::kDouble), b.to(at::kDouble)) <= tolerance;
}

TEST_CASE("softmax survives scores that overflow the exponential, and makes masked ones exact zeros") {
  CHECK(near(stable_softmax(torch::tensor({1000.0, 1000.0, 999.0})), torch::tensor({0.4223188, 0.4223188, 0.1553624})));
  CHECK(stable_softmax(torch::tensor({3.0, -inf, -inf})).equal(torch::tensor({1.0, 0.0, 0.0})));
  CHECK(near(stable_softmax(torch::tensor({{0.0, 1.0}, {0.0, 1.0}}), 0), at::full({2, 2}, 0.5)));
}

TEST_CASE("a causal mask hides later keys; fewer queries than keys stand at the end") {
  CHECK(causal_mask(3, 3).equal(torch::tensor({{0.0, -inf, -inf}, {0.0, 0.0, -inf}, {0.0, 0.0, 0.0}})));
  CHECK(causal_mask(2, 3).equal(torch::tensor({{0.0, 0.0, -inf}, {0.0, 0.0, 0.0}})));
  CHECK(causal_mask(1, 3).equal(at::zeros({1, 3})));
}

TEST_CASE("behind a sliding mask a query sees as many keys as the window has") {
  const Tensor seen = sliding_mask(2, 5, 3) == 0;
  CHECK(seen.equal(torch::tensor({{0, 1, 1, 1, 0}, {0, 0, 1, 1, 1}}).to(torch::kBool)));
}

TEST_CASE("the first causal output is the first value, and equal scores average the past") {
  const Tensor q = at::zeros({3, 2}), v = torch::tensor({{6.0, 0.0}, {3.0, 3.0}, {3.0, 9.0}});
  const Attended attended = scaled_dot_product(q, q, v, causal_mask(3, 3), 1.0);
  CHECK(near(attended.output, torch::tensor({{6.0, 0.0}, {4.5, 1.5}, {4.0, 4.0}})));
  CHECK(near(attended.weights[1], torch::tensor({0.5, 0.5, 0.0})));
}

TEST_CASE("sinusoidal positions interleave sine and cosine, for an odd width too") {
  CHECK(near(sinusoidal_table(2, 4),
             torch::tensor({{0.0, 1.0, 0.0, 1.0}, {std::sin(1.0), std::cos(1.0), std::sin(0.01), std::cos(0.01)}})));
  CHECK(sinusoidal_table(4, 5).sizes() == torch::IntArrayRef({4, 5}));
  CHECK(sinusoidal_table(4, 5)[3][1].item<double>() == Approx(std::cos(3.0)));
}

TEST_CASE("rotation by a quarter turn swaps the halves of a pair") {
  const Tensor x = torch::tensor({{1.0, 2.0, 3.0, 4.0}});  // pairs (1, 3) and (2, 4)
  const Tensor turned = rotate_halves(x, torch::tensor({{0.0, 1.0}}), torch::tensor({{1.0, 0.0}}));
  CHECK(turned.equal(torch::tensor({{-3.0, 2.0, 1.0, 4.0}})));
}

TEST_CASE("after rotation q . k depends on the distance of positions alone") {
  RotaryEmbedding rope(64, 6, 100.0);
  const Tensor q = torch::tensor({0.3, -1.0, 2.0, 0.5, 1.5, -0.7}).view({1, 1, 1, 6});
  const Tensor k = torch::tensor({1.1, 0.4, -0.6, 0.9, -2.0, 0.2}).view({1, 1, 1, 6});
  const auto score = [&](std::int64_t i, std::int64_t j) {
    return (rope(q.expand({1, 1, 64, 6})).select(2, i) * rope(k.expand({1, 1, 64, 6})).select(2, j))
        .sum()
        .item<double>();
  };
  CHECK(score(7, 3) == Approx(score(50, 46)).epsilon(1e-5));
  CHECK(score(0, 0) == Approx((q * k).sum().item<double>()));
  CHECK(score(7, 3) != Approx(score(7, 4)).epsilon(1e-2));
}

TEST_CASE("norms: (x - mean) / deviation, x / root mean square, or nothing") {
  const Tensor x = torch::tensor({{1.0, 2.0, 3.0, 6.0}});
  NormLayer layernorm(NormLayerOptions{.size = 4, .bias = true, .eps = 0});
  CHECK(near(layernorm(x), (x - 3) / std::sqrt(3.5), 1e-6));
  NormLayer rmsnorm(NormLayerOptions{.size = 4, .kind = Norm::rmsnorm, .bias = true, .eps = 0});
  CHECK(near(rmsnorm(x), x / std::sqrt(12.5), 1e-6));
  CHECK(rmsnorm->parameters().size() == 1);
  NormLayer none(NormLayerOptions{.size = 4, .kind = Norm::none});
  CHECK(none(x).is_same(x));
  CHECK(none->parameters().empty());
}

TEST_CASE("activations at -1, 0 and 2") {
  const Tensor x = torch::tensor({-1.0, 0.0, 2.0});
  CHECK(near(activate(x, Activation::gelu), torch::tensor({-0.15865525, 0.0, 1.95449974})));
  CHECK(near(activate(x, Activation::gelu_tanh), torch::tensor({-0.15880801, 0.0, 1.95459769})));
  CHECK(near(activate(x, Activation::relu), torch::tensor({0.0, 0.0, 2.0})));
  CHECK(near(activate(x, Activation::relu2), torch::tensor({0.0, 0.0, 4.0})));
  CHECK_THROWS_AS(activate(x, Activation::swiglu), c10::Error);
}

TEST_CASE("swiglu multiplies by a gate: up * gate * sigmoid(gate)") {
  ModelConfig config = small_config();
  config.n_embd = config.mlp_size = 1;
  config.activation = Activation::swiglu;
  MLP mlp(config);
  const torch::NoGradGuard no_grad;
  mlp->c_fc->weight.fill_(3.0);
  mlp->c_gate->weight.fill_(2.0);
  mlp->c_proj->weight.fill_(5.0);
  ForwardPass pass;
  CHECK(mlp(at::ones({1, 1}), pass).item<double>() == Approx(5 * 3 * 2 / (1 + std::exp(-2.0))));
}

TEST_CASE("a convolution starts as the identity, and adds what came before by its weights") {
  const torch::NoGradGuard no_grad;
  ModelConfig config = small_config();
  config.n_embd = 1;
  config.conv_width = 3;
  ShortConvolution convolution(config);
  const Tensor x = torch::tensor({1.0F, 10.0F, 100.0F, 1000.0F}).view({1, 4, 1});
  CHECK(torch::equal(convolution(x), x));
  convolution->weight.copy_(torch::tensor({1.0F, 0.5F, 2.0F}).view({3, 1}));
  const Tensor expected = torch::tensor({2.0F, 20.5F, 207.0F, 2070.0F}).view({1, 4, 1});
  CHECK(torch::equal(convolution(x), expected));
}

TEST_CASE("a pre-norm block whose sublayers end in zeros returns its input exactly") {
  const torch::NoGradGuard no_grad;
  ModelConfig config = small_config();
  config.bias = true;
  Block block(config);
  for (auto& layer : {block->attn->c_proj, block->mlp->c_proj}) {
    layer->weight.zero_();
    layer->bias.zero_();
  }
  const Tensor x = at::arange(48).to(at::kFloat).view({1, 2, 24});
  ForwardPass pass;
  CHECK(block(x, pass).equal(x));
}

TEST_CASE("post-norm normalises the sum, pre-norm what the sublayer reads") {
  const torch::NoGradGuard no_grad;
  ModelConfig config = small_config();
  config.feed_forward = false;
  const Tensor x = at::arange(48).to(at::kFloat).sin().view({1, 2, 24});
  for (const auto place : {NormPlace::pre, NormPlace::post}) {
    config.norm_place = place;
    Block block(config);
    ForwardPass expected_pass, pass;
    const Tensor expected = place == NormPlace::pre ? x + block->attn(block->ln_1(x), expected_pass)
                                                    : block->ln_1(x + block->attn(x, expected_pass));
    CHECK(block(x, pass).equal(expected));
  }
}

TEST_CASE("without positions one layer cannot tell the order of the past; with them it can") {
  const torch::NoGradGuard no_grad;
  ModelConfig config = small_config();
  config.n_layer = 1;
  config.init_std = 0.2;  // so that attention has preferences
  const auto difference = [&](Position position) {
    config.position = position;
    const auto model = make_model(config, test_vocab, 1);
    const Tensor ids = torch::tensor({1, 2, 3, 2, 1, 3}, at::kLong).view({2, 3});
    const Tensor last = model->forward(ids).select(1, 2);
    return largest_difference(last[0], last[1]);
  };
  CHECK(difference(Position::none) <= 1e-5);
  for (const auto position : {Position::learned, Position::sinusoidal, Position::rope})
    CHECK(difference(position) > 1e-3);
}

}  // namespace
}  // namespace chargpt
