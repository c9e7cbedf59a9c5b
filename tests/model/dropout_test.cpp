// Dropout as a function of its key. Which elements a key drops: kernels_test.cpp, and cpu_engine_test.cpp for the
// modules.
#include "model/language_model.h"

#include "variants.h"
//
#include "test.h"

namespace chargpt {
namespace {

using torch::Tensor;

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
