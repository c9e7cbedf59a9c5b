// Dropout as a function of its seed. Which elements a seed drops: kernels_test.cpp, and cpu_engine_test.cpp for the
// modules.
#include "engine/engine.h"
#include "model/language_model.h"

#include "variants.h"
//
#include "test.h"

namespace chargpt {
namespace {

using torch::Tensor;

TEST_CASE("seed, step, micro-batch and layer each give another mask") {
  const Tensor x = at::ones({64});
  const auto first_two = [&](std::uint64_t seed, std::int64_t step, std::size_t micro_batch) {
    ForwardPass pass{.dropout_seed = dropout_seed({.step = step, .seed = seed, .micro_batches = {}}, micro_batch)};
    return at::stack({pass.drop(x, 0.5), pass.drop(x, 0.5)});
  };
  const Tensor masks = first_two(1, 2, 3);
  CHECK(masks.equal(first_two(1, 2, 3)));
  CHECK_FALSE(masks[0].equal(masks[1]));
  for (const Tensor& other : {first_two(2, 2, 3), first_two(1, 3, 3), first_two(1, 2, 4)})
    CHECK_FALSE(masks.equal(other));
}

ModelConfig dropping(const Places& places) {
  ModelConfig config = small_config();
  config.dropout = 0.5;
  config.dropout_places = places;
  return config;
}

TEST_CASE("a model drops what its seed says, at each place, and nothing in evaluation") {
  const torch::NoGradGuard no_grad;
  const Tensor ids = some_ids(2, 8);
  const ForwardPass step_1{.dropout_seed = 1}, step_2{.dropout_seed = 2};
  const Tensor evaluated = make_model(small_config(), test_vocab, 1)->forward(ids);
  for (const Place place : {Place::embedding, Place::attention, Place::attention_output, Place::mlp}) {
    INFO(enum_name(place));
    const auto model = make_model(dropping({place}), test_vocab, 1);
    const Tensor dropped = model->forward(ids, step_1);
    CHECK(dropped.equal(model->forward(ids, step_1)));
    CHECK(largest_difference(dropped, model->forward(ids, step_2)) > 1e-4);
    CHECK(model->forward(ids).equal(evaluated));
  }
  const auto nowhere = make_model(dropping({}), test_vocab, 1);
  CHECK(nowhere->forward(ids, step_1).equal(evaluated));
}

TEST_CASE("recorded attention is what it was before dropout") {
  const torch::NoGradGuard no_grad;
  const auto model = make_model(dropping({Place::attention}), test_vocab, 1);
  AttentionMaps with, without;
  model->forward(some_ids(2, 8), {.dropout_seed = 1, .attention = &with});
  model->forward(some_ids(2, 8), {.attention = &without});
  CHECK(with[0].equal(without[0]));
}

}  // namespace
}  // namespace chargpt
