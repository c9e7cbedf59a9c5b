// Averages of weights by hand, and their place in an arena.
#include "optimizer/optimizer.h"

#include "tiny_arena.h"

#include "test.h"

using namespace chargpt;

namespace {

/// A change of every weight to `value`, counted as an update.
void set_weights(ParameterArena& arena, float value) {
  for (ParameterGroup& group : arena.groups()) std::ranges::fill(group.values.all(), value);
  arena.count_update();
}

float first_average(const ParameterArena& arena) {
  return arena.groups()[0].averages.data()[0];
}

}  // namespace

TEST_CASE("the average forgets its first weights soon, then decays as told") {
  TinyArena arena;
  for (ParameterGroup& group : arena.groups()) std::ranges::fill(group.values.all(), 11.0F);
  start_averages(arena);
  set_weights(arena, 0);
  follow_averages(arena, 0.5);  // d = (1 + 1) / (10 + 1)
  CHECK(first_average(arena) == Approx(2));
  set_weights(arena, 0);
  follow_averages(arena, 0.5);  // d = 3 / 12
  CHECK(first_average(arena) == Approx(0.5));
  for (int update = 3; update <= 8; ++update) set_weights(arena, 0);
  follow_averages(arena, 0.5);  // d = 9 / 18 = 0.5
  set_weights(arena, 1);
  follow_averages(arena, 0.5);  // (1 + 9) / 19 is above the decay told
  CHECK(first_average(arena) == Approx(0.5 * 0.25 + 0.5));
}

TEST_CASE("weights and averages that change places twice are the same bits") {
  TinyArena arena;
  start_averages(arena);
  const cpu::AlignedFloats average = arena.groups()[0].values.copy();
  for (float& value : arena.groups()[0].values.all()) value *= 1.7F;
  const cpu::AlignedFloats own = arena.groups()[0].values.copy();
  swap_averages(arena);
  CHECK(equal(arena.groups()[0].values, average));
  swap_averages(arena);
  CHECK(equal(arena.groups()[0].values, own));
}

TEST_CASE("a snapshot has the averages too") {
  TinyArena arena;
  start_averages(arena);
  const ArenaSnapshot before = arena.snapshot();
  set_weights(arena, 100);
  follow_averages(arena, 0.9);
  CHECK_FALSE(equal(arena.groups()[0].averages, before.groups[0].averages));
  arena.restore(before);
  CHECK(equal(arena.groups()[0].averages, before.groups[0].averages));
}

TEST_CASE("an arena that averages nothing is left alone") {
  TinyArena arena;
  set_weights(arena, 3);
  follow_averages(arena, 0.9);
  swap_averages(arena);
  CHECK(arena.averaged_tensors().empty());
  CHECK(arena.groups()[0].values.data()[0] == 3);
}
