// Layers and attention functions against figures that can be checked by eye.
#include "model/layers.h"

#include "model/attention.h"
#include "variants.h"
//
#include "test.h"

namespace chargpt {
namespace {

using torch::Tensor;

constexpr double inf = std::numeric_limits<double>::infinity();

TEST_CASE("a causal mask hides later keys") {
  CHECK(causal_mask(3).equal(torch::tensor({{0.0, -inf, -inf}, {0.0, 0.0, -inf}, {0.0, 0.0, 0.0}})));
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
    return (rope(q.expand({1, 64, 1, 6})).select(1, i) * rope(k.expand({1, 64, 1, 6})).select(1, j))
        .sum()
        .item<double>();
  };
  CHECK(score(7, 3) == Approx(score(50, 46)).epsilon(1e-5));
  CHECK(score(0, 0) == Approx((q * k).sum().item<double>()));
  CHECK(score(7, 3) != Approx(score(7, 4)).epsilon(1e-2));
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
