// AdamW and clipping against PyTorch's own, as scripts/reference/updates.py has them.
#include "engine/optimizer.h"

#include "golden_updates.h"
#include "tiny_arena.h"

#include "test.h"
#include "threads_in_force.h"

using namespace chargpt;

namespace {

/// A change of every weight to `value`, counted as an update.
void set_weights(ParameterArena& arena, float value) {
  std::ranges::fill(arena.values.all(), value);
  arena.count_update();
}

float first_average(const ParameterArena& arena) {
  return arena.averages.data()[0];
}

}  // namespace

TEST_CASE("three updates are those of torch.optim.AdamW, with decay and scaled gradients") {
  const nlohmann::json golden = golden_figures("updates")["adamw"];
  TrainConfig train;
  train.learning_rate = golden["learning_rate"];
  train.weight_decay = golden["weight_decay"];
  ParameterArena arena({{.name = "x", .shape = {golden["size"]}}}, Decay::all, train);
  const auto x = [&](const cpu::AlignedFloats& buffer) { return arena.parameters()[0].in(buffer.data()); };
  fill_golden(x(arena.values), 0);
  for (std::size_t s = 0; s < golden["updates"].size(); ++s) {
    INFO("update " << s + 1);
    fill_golden(x(arena.gradients), static_cast<std::uint32_t>(100 * (s + 1)));
    update(arena, {.lr_factor = golden["updates"][s]["lr_factor"],
                   .gradient_scale = golden["updates"][s]["gradient_scale"],
                   .beta1 = golden["beta1"],
                   .beta2 = golden["beta2"],
                   .eps = golden["eps"]});
    CHECK(distance(x(arena.values), golden["after"][s]["values"]) < 1e-7);
    CHECK(distance(x(arena.moment1), golden["after"][s]["moment1"]) < 1e-8);
    CHECK(distance(x(arena.moment2), golden["after"][s]["moment2"]) < 1e-8);
  }
  CHECK(arena.updates() == 3);
}

TEST_CASE("an epsilon of 0 leaves weights without a gradient, and padding, as they are") {
  const TrainConfig train{.weight_decay = 0, .adam_eps = 0};
  TinyArena arena(train);
  std::ranges::fill(arena.gradients.all(), 0.0F);
  const ArenaCopy before(arena);
  update(arena, update_context(train, 0, 1));
  CHECK(equal(arena.values, before.values));
}

TEST_CASE("a group's own rate follows the schedule's factor") {
  TinyArena arena({.groups = {{.match = "wte", .learning_rate = 10, .weight_decay = 0}}});
  std::ranges::fill(arena.values.all(), 0.0F);
  std::ranges::fill(arena.gradients.all(), 1.0F);
  update(arena, {.lr_factor = 0.5});
  CHECK(arena.values.data()[0] == Approx(-5));
}

TEST_CASE("threads change no bit of an update by AdamW") {
  const auto updated = [](int threads) {
    const Threads in_force(threads);
    ParameterArena arena({{.name = "x", .shape = {333, 301}}}, Decay::matrices, {});
    fill_golden(arena.values.all(), 1);
    fill_golden(arena.gradients.all(), 2);
    update(arena, {});
    update(arena, {.gradient_scale = 0.5});
    return std::vector<float>(arena.values.all().begin(), arena.values.all().end());
  };
  CHECK(updated(1) == updated(2));
  CHECK(updated(1) == updated(3));
}

TEST_CASE("clipping multiplies by max_norm / (norm + 1e-6), never by more than 1") {
  CHECK(update_context({.grad_clip = 1}, 4, 1).gradient_scale == Approx(0.25));
  CHECK(update_context({.grad_clip = 1}, 0.5, 1).gradient_scale == 1);
  CHECK(update_context({.grad_clip = 0}, 100, 1).gradient_scale == 1);
}

// Averages of weights by hand, and their place in an arena.

TEST_CASE("the average forgets its first weights soon, then decays as told") {
  TinyArena arena;
  std::ranges::fill(arena.values.all(), 11.0F);
  arena.averages = arena.values.copy();
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
  arena.averages = arena.values.copy();
  const cpu::AlignedFloats average = arena.values.copy();
  for (float& value : arena.values.all()) value *= 1.7F;
  const cpu::AlignedFloats own = arena.values.copy();
  swap_averages(arena);
  CHECK(equal(arena.values, average));
  swap_averages(arena);
  CHECK(equal(arena.values, own));
}

TEST_CASE("an arena that averages nothing is left alone") {
  TinyArena arena;
  set_weights(arena, 3);
  follow_averages(arena, 0.9);
  swap_averages(arena);
  CHECK(arena.weights_in(arena.averages).empty());
  CHECK(arena.values.data()[0] == 3);
}
