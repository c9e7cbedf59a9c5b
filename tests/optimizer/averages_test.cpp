// Averages of weights by hand, and their place in an arena.
#include "optimizer/averages.h"

#include "base/error.h"
#include "tiny_model.h"

#include "test.h"

using namespace chargpt;

namespace {

/// A change of every weight to `value`, counted as an update.
void set_weights(ParameterArena& arena, float value) {
  for (ParameterGroup& group : arena.groups()) group.values.fill_(value);
  arena.count_update();
}

float first_weight(const ParameterArena& arena) {
  return arena.groups()[0].values[0].item<float>();
}

float first_average(const AveragedWeights& averages, ParameterArena& arena) {
  const AveragedWeights::InUse in_use(averages, arena);
  return first_weight(arena);
}

}  // namespace

TEST_CASE("the average forgets its first weights soon, then decays as told") {
  TiedModel model;
  ParameterArena arena(model, {});
  for (ParameterGroup& group : arena.groups()) group.values.fill_(11);
  AveragedWeights averages(arena, 0.5);
  set_weights(arena, 0);
  averages.follow(arena);  // d = (1 + 1) / (10 + 1)
  CHECK(first_average(averages, arena) == Approx(2));
  set_weights(arena, 0);
  averages.follow(arena);  // d = 3 / 12
  CHECK(first_average(averages, arena) == Approx(0.5));
  for (int update = 3; update <= 8; ++update) set_weights(arena, 0);
  averages.follow(arena);  // d = 9 / 18 = 0.5
  set_weights(arena, 1);
  averages.follow(arena);  // (1 + 9) / 19 is above the decay told
  CHECK(first_average(averages, arena) == Approx(0.5 * 0.25 + 0.5));
}

TEST_CASE("averages in use give the arena its own weights back, bit for bit") {
  TiedModel model;
  ParameterArena arena(model, {});
  AveragedWeights averages(arena, 0.9);
  const torch::Tensor before = arena.groups()[0].values.clone();
  arena.groups()[0].values.mul_(1.7);
  const torch::Tensor own = arena.groups()[0].values.clone();
  {
    const AveragedWeights::InUse in_use(averages, arena);
    CHECK(torch::equal(arena.groups()[0].values, before));
  }
  CHECK(torch::equal(arena.groups()[0].values, own));
}

TEST_CASE("a copy goes its own way") {
  TiedModel model;
  ParameterArena arena(model, {});
  AveragedWeights averages(arena, 0.9);
  const AveragedWeights copy = averages.copy();
  const float before = first_average(copy, arena);
  set_weights(arena, 100);
  averages.follow(arena);
  CHECK(first_average(copy, arena) == before);
  CHECK(first_average(averages, arena) != before);
}

TEST_CASE("without a decay there are no averages") {
  TiedModel model;
  ParameterArena arena(model, {});
  AveragedWeights averages(arena, 0);
  set_weights(arena, 3);
  averages.follow(arena);
  std::vector<torch::Tensor> storage;
  CHECK_FALSE(averages.any());
  CHECK(averages.tensors(arena, storage).empty());
  CHECK(first_average(averages, arena) == 3);
}
