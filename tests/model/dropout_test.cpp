// Dropout as a function of its key.
#include "model/language_model.h"

#include <ATen/Parallel.h>

#include "base/random.h"
#include "variants.h"
//
#include "test.h"

namespace chargpt {
namespace {

using torch::Tensor;

TEST_CASE("element i of a mask is word i mod 4 of Philox block i / 4") {
  const double rate = 0.3;
  const Tensor mask = dropout_mask({3, 7}, rate, 0x0123456789abcdefULL, 5).flatten();
  for (std::uint32_t i = 0; i < 21; ++i) {
    const double uniform = philox({i / 4, 0, 5, 0}, {0x89abcdefU, 0x01234567U})[i % 4] / 4294967296.0;
    CHECK(mask[i].item<float>() == (uniform < rate ? 0.0F : static_cast<float>(1 / 0.7)));
  }
}

TEST_CASE("a mask keeps 1 - rate of its elements and the mean of all") {
  const double n = 100000;
  for (const double rate : {0.0, 0.1, 0.5, 0.99}) {
    const Tensor mask = dropout_mask({static_cast<std::int64_t>(n)}, rate, 1, 0);
    const double five_sigma = 5 * std::sqrt(rate * (1 - rate) / n);
    CHECK(mask.gt(0).to(at::kDouble).mean().item<double>() == Approx(1 - rate).margin(five_sigma + 1e-12));
    CHECK(mask.mean().item<double>() == Approx(1).margin(five_sigma / (1 - rate) + 1e-6));
  }
}

TEST_CASE("the number of threads changes no mask") {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Tensor one = dropout_mask({64, 64, 37}, 0.2, 3, 1);
  at::set_num_threads(4);
  const Tensor four = dropout_mask({64, 64, 37}, 0.2, 3, 1);
  at::set_num_threads(threads);
  CHECK(one.equal(four));
}

TEST_CASE("seed, step, micro-batch and layer each give another mask") {
  const Tensor x = at::ones({64});
  const auto first_two = [&](const DropoutKey& key) {
    ForwardPass pass{.dropout = &key};
    return at::stack({pass.drop(x, 0.5), pass.drop(x, 0.5)});
  };
  const Tensor masks = first_two({.seed = 1, .step = 2, .micro_batch = 3});
  CHECK(masks.equal(first_two({.seed = 1, .step = 2, .micro_batch = 3})));
  CHECK_FALSE(masks[0].equal(masks[1]));
  for (const DropoutKey& other : {DropoutKey{2, 2, 3}, DropoutKey{1, 3, 3}, DropoutKey{1, 2, 4}})
    CHECK_FALSE(masks.equal(first_two(other)));
}

TEST_CASE("without a key, or at rate 0, dropout returns its input and counts no layer") {
  const Tensor x = at::ones({64});
  ForwardPass none;
  CHECK(none.drop(x, 0.5).is_same(x));
  const DropoutKey key;
  ForwardPass some{.dropout = &key}, other = some;
  CHECK(some.drop(x, 0).is_same(x));
  CHECK(some.drop(x, 0.5).equal(other.drop(x, 0.5)));
}

ModelConfig dropping(const Places& places) {
  ModelConfig config = small_config();
  config.dropout = 0.5;
  config.dropout_places = places;
  return config;
}

TEST_CASE("a model drops what its key says, at each place, and nothing in evaluation") {
  const torch::NoGradGuard no_grad;
  const Tensor ids = some_ids(2, 8);
  const DropoutKey step_1{.seed = 1, .step = 1}, step_2{.seed = 1, .step = 2};
  const Tensor evaluated = make_model(small_config(), test_vocab, 1)->forward(ids);
  for (const Place place : {Place::embedding, Place::attention, Place::attention_output, Place::mlp}) {
    INFO(enum_name(place));
    const auto model = make_model(dropping({place}), test_vocab, 1);
    const Tensor dropped = model->forward(ids, {.dropout = &step_1});
    CHECK(dropped.equal(model->forward(ids, {.dropout = &step_1})));
    CHECK(largest_difference(dropped, model->forward(ids, {.dropout = &step_2})) > 1e-4);
    CHECK(model->forward(ids).equal(evaluated));
  }
  const auto nowhere = make_model(dropping({}), test_vocab, 1);
  CHECK(nowhere->forward(ids, {.dropout = &step_1}).equal(evaluated));
}

TEST_CASE_METHOD(NoGradients, "dropout of attention weights leaves the mean of what is gathered") {
  ModelConfig config = small_config("attention");
  config.dropout = 0.5;
  config.dropout_places = {Place::attention};
  const auto model = make_model(config, test_vocab, 1);
  const Tensor ids = some_ids(2, 8), evaluated = model->forward(ids);
  Tensor sum = at::zeros_like(evaluated), squares = at::zeros_like(evaluated);
  const int draws = 2000;
  for (int step = 0; step < draws; ++step) {
    const DropoutKey key{.seed = 1, .step = step};
    const Tensor off = model->forward(ids, {.dropout = &key}) - evaluated;  // linear in the weights: mean 0
    sum += off;
    squares += off.square();
  }
  const Tensor error = (squares / draws).sqrt() / std::sqrt(draws);
  CHECK((sum / draws / error).abs().max().item<double>() < 5);
}

TEST_CASE("recorded attention is what it was before dropout") {
  const torch::NoGradGuard no_grad;
  const auto model = make_model(dropping({Place::attention}), test_vocab, 1);
  const DropoutKey key;
  AttentionMaps with, without;
  model->forward(some_ids(2, 8), {.dropout = &key, .attention = &with});
  model->forward(some_ids(2, 8), {.attention = &without});
  CHECK(with[0].equal(without[0]));
}

}  // namespace
}  // namespace chargpt
