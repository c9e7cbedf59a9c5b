// Muon against scripts/reference/updates.py, which takes one matrix after the other in float64.
#include "engine/muon.h"

#include <numeric>

#include "golden_updates.h"
#include "kernels/kernels.h"
#include "tiny_arena.h"

#include "test.h"
#include "threads_in_force.h"

using namespace chargpt;

namespace {

std::vector<Parameter> parameters_of(const nlohmann::json& rows) {
  std::vector<Parameter> parameters;
  for (const auto& row : rows)
    parameters.push_back({.name = row["name"], .shape = row["shape"], .stacked = row["stacked"]});
  return parameters;
}

TrainConfig muon_config(double rate, double decay = 0, double momentum = 0.95, UpdateRule rule = UpdateRule::muon) {
  return {.groups = {
              {.match = ".", .learning_rate = rate, .weight_decay = decay, .optimizer = rule, .momentum = momentum}}};
}

using Doubles = std::vector<double>;

/// a (r, c) b (c, n), b transposed where it is (n, c).
Doubles product(const Doubles& a, const Doubles& b, long r, long c, long n, bool transposed) {
  Doubles result(static_cast<std::size_t>(r * n));
  for (long i = 0; i < r; ++i)
    for (long k = 0; k < c; ++k)
      for (long j = 0; j < n; ++j)
        result[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * c + k)] * b[static_cast<std::size_t>(transposed ? j * c + k : k * n + j)];
  return result;
}

Doubles transposed(const Doubles& x, long rows, long columns) {
  Doubles result(x.size());
  for (long r = 0; r < rows; ++r)
    for (long c = 0; c < columns; ++c)
      result[static_cast<std::size_t>(c * rows + r)] = x[static_cast<std::size_t>(r * columns + c)];
  return result;
}

/// Five steps x -> a x + b (x x') x + c (x x')^2 x from u / |u|, in float64, of the matrix that lies.
Doubles orthogonalised(Doubles x, long rows, long columns) {
  if (rows > columns) return transposed(orthogonalised(transposed(x, rows, columns), columns, rows), columns, rows);
  double square = 0;
  for (const double value : x) square += value * value;
  for (double& value : x) value /= std::sqrt(square) + 1e-7;
  for (int step = 0; step < 5; ++step) {
    const Doubles g = product(x, x, rows, columns, rows, true), gg = product(g, g, rows, rows, rows, false);
    Doubles p(g.size());
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = -4.7750 * g[i] + 2.0315 * gg[i];
    const Doubles px = product(p, x, rows, rows, columns, false);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] + px[i];
  }
  return x;
}

}  // namespace

TEST_CASE("three updates of stacked, square, tall and wide matrices are the reference's") {
  const nlohmann::json golden = golden_figures("updates")["muon"];
  ParameterArena arena(parameters_of(golden["parameters"]), Decay::matrices,
                       muon_config(golden["learning_rate"], golden["weight_decay"], golden["momentum"]));
  REQUIRE(arena.groups().size() == 1);
  const std::vector<Parameter>& parameters = arena.parameters();
  for (std::size_t k = 0; k < parameters.size(); ++k)
    fill_golden(parameters[k].in(arena.values.data()), static_cast<std::uint32_t>(k));
  for (std::size_t s = 0; s < golden["updates"].size(); ++s) {
    for (std::size_t k = 0; k < parameters.size(); ++k)
      fill_golden(parameters[k].in(arena.gradients.data()), static_cast<std::uint32_t>(100 * (s + 1) + k));
    update(arena,
           {.lr_factor = golden["updates"][s]["lr_factor"], .gradient_scale = golden["updates"][s]["gradient_scale"]});
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      INFO(parameters[k].name << " after update " << s + 1);
      CHECK(distance(parameters[k].in(arena.values.data()), golden["after"][s]["values"][k]) < 2e-6);
      CHECK(distance(parameters[k].in(arena.moment1.data()), golden["after"][s]["moments"][k]) < 1e-6);
    }
  }
  CHECK(arena.moment2.empty());
}

TEST_CASE("matrices of every shape are orthogonalised as the formula says, by every instruction set") {
  const std::vector<std::pair<long, long>> shapes{{64, 64}, {64, 256}, {256, 64},  {33, 7},    {7, 33},
                                                  {1, 5},   {5, 1},    {100, 101}, {30, 9000}, {9000, 30}};
  for (const cpu::Kernels* set : cpu::kernels_up_to(cpu::instruction_set()))
    for (const auto& [rows, columns] : shapes) {
      INFO(set->name << ", " << rows << " x " << columns);
      std::vector<float> scratch, u(static_cast<std::size_t>(rows * columns + set->slack)),
          got(static_cast<std::size_t>(rows * columns));
      fill_golden(u, 51);
      cpu::add_orthogonalised(*set, rows, columns, u.data(), 0.5, got.data(), scratch);
      Doubles expected = orthogonalised(Doubles(u.begin(), u.begin() + static_cast<long>(got.size())), rows, columns);
      for (double& value : expected) value *= 0.5;
      CHECK(distance(got, expected) < 1e-5);
    }
}

TEST_CASE("muon_rows gives each row of a matrix's step one length") {
  ParameterArena arena({{.name = "stack", .shape = {15, 4}, .stacked = 3},
                        {.name = "tall", .shape = {12, 4}},
                        {.name = "wide", .shape = {4, 10}},
                        {.name = "row", .shape = {1, 6}}},
                       Decay::matrices, muon_config(0.1, 0, 0.9, UpdateRule::muon_rows));
  fill_golden(arena.gradients.all(), 3);
  update(arena, {});
  for (const Parameter& one : arena.parameters()) {
    const long rows = one.rows(), columns = one.shape[1];
    for (long i = 0; i < one.stacked; ++i) {
      INFO(one.name << " " << i);
      const std::int64_t at = one.offset + i * rows * columns, end = at + rows * columns;
      Doubles expected =
          orthogonalised(Doubles(arena.gradients.data() + at, arena.gradients.data() + end), rows, columns);
      const double squares = std::inner_product(expected.begin(), expected.end(), expected.begin(), 0.0);
      const double rate = 0.1 * rate_of_shape(one) * std::sqrt(squares / static_cast<double>(rows));
      for (auto row = expected.begin(); row != expected.end(); row += columns) {
        const double length = std::sqrt(std::inner_product(row, row + columns, row, 0.0));
        std::transform(row, row + columns, row, [&](double x) { return -rate * x / length; });
      }
      CHECK(distance({arena.values.data() + at, arena.values.data() + end}, expected) < 1e-6);
    }
  }
}

TEST_CASE("threads change no bit of an update by Muon") {
  const UpdateRule rule = GENERATE(UpdateRule::muon, UpdateRule::muon_rows);
  const auto updated = [rule](int threads) {
    const Threads in_force(threads);
    ParameterArena arena({{.name = "a", .shape = {96, 40}, .stacked = 3}, {.name = "b", .shape = {200, 100}}},
                         Decay::matrices, muon_config(0.1, 0.1, 0.95, rule));
    fill_golden(arena.values.all(), 1);
    fill_golden(arena.gradients.all(), 2);
    update(arena, {});
    return std::vector<float>(arena.values.all().begin(), arena.values.all().end());
  };
  CHECK(updated(1) == updated(2));
  CHECK(updated(1) == updated(3));
}

TEST_CASE("a gradient of zeros moves nothing") {
  TinyArena arena(muon_config(0.1, 0, 0.95, GENERATE(UpdateRule::muon, UpdateRule::muon_rows)));
  std::ranges::fill(arena.gradients.all(), 0.0F);
  const ArenaCopy before(arena);
  update(arena, {});
  CHECK(equal(arena.values, before.values));
}
