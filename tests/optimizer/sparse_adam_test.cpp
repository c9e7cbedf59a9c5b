// Tables by touched rows: against scripts/reference/updates.py, against the library's operations, and what the rest of
// an arena must not do to them.
#include "optimizer/sparse_adam.h"

#include <ATen/Parallel.h>

#include "base/error.h"
#include "golden_updates.h"
#include "optimizer/sparse_adam_rows.h"
#include "table_model.h"
#include "tiny_model.h"

#include "learner/step.h"
#include "test.h"

using namespace chargpt;

namespace {

/// A model whose table has the golden values, in a sparse_adam group.
struct GoldenTable {
  explicit GoldenTable(const nlohmann::json& golden)
      : model(golden["rows"], golden["width"]),
        arena(model, table_config(UpdateRule::sparse_adam, golden["learning_rate"], golden["weight_decay"])) {
    group().values.copy_(golden_weights(group().slots[0].shape, 0).flatten());
  }
  ParameterGroup& group() { return arena.groups()[0]; }
  TableModel model;
  ParameterArena arena;
};

RowGradient golden_gradient(const nlohmann::json& golden, std::size_t s) {
  const auto rows = golden["updates"][s]["rows"].get<std::vector<std::int64_t>>();
  return {torch::tensor(rows, torch::kInt64), golden_weights({std::ssize(rows), golden["width"].get<std::int64_t>()},
                                                             static_cast<std::uint32_t>(100 * (s + 1)))};
}

void check_golden(void (*rule)(ParameterGroup&, std::int64_t, const UpdateContext&)) {
  const nlohmann::json golden = golden_updates()["sparse_adam"];
  GoldenTable table(golden);
  start_moments(table.group());
  for (std::size_t s = 0; s < golden["updates"].size(); ++s) {
    table.group().table->gradient = golden_gradient(golden, s);
    rule(table.group(), static_cast<std::int64_t>(s + 1),
         {.lr_factor = golden["updates"][s]["lr_factor"], .beta2 = golden["beta2"], .eps = golden["eps"]});
    INFO("after update " << s + 1);
    CHECK(distance(table.group().values, golden["after"][s]["values"]) < 1e-6);
    CHECK(distance(table.group().moment2, golden["after"][s]["moment"]) < 1e-6);
  }
  CHECK_FALSE(table.group().moment1.defined());
}

struct Run {
  explicit Run(const TrainConfig& train_in, std::int64_t rows = 40)
      : train(train_in), model(rows), arena(model, train), engine(make_engine("autograd", model, arena, train)) {}
  StepResult step(std::int64_t number, std::int64_t micro_batches = 1) {
    std::vector<WindowBatch> batches;
    for (std::int64_t i = 0; i < micro_batches; ++i) batches.push_back(formula_batch(4 * number + i, 3, 4, 7));
    return make_step(*engine, arena, train, 1, {.step = number, .seed = 5, .micro_batches = batches});
  }
  ParameterGroup& table() { return arena.groups()[0]; }
  TrainConfig train;
  TableModel model;
  ParameterArena arena;
  std::unique_ptr<Engine> engine;
};

const TrainConfig sparse = table_config(UpdateRule::sparse_adam);

}  // namespace

TEST_CASE("four updates of repeated, missing and unordered rows are the reference's, by kernel and by operations") {
  SECTION("kernel") {
    check_golden(sparse_adam);
  }
  SECTION("operations") {
    check_golden(sparse_adam_by_operations);
  }
}

TEST_CASE("touched rows are distinct and rise, their places too") {
  const std::vector<std::int64_t> rows{9, 2, 9, 4, 2, 9};
  const TouchedRows touched(rows);
  CHECK(touched.distinct() == std::vector<std::int64_t>{2, 4, 9});
  const auto places = [&](std::int64_t i) {
    return std::vector<std::int32_t>(touched[i].occurrences.begin(), touched[i].occurrences.end());
  };
  CHECK(places(0) == std::vector<std::int32_t>{1, 4});
  CHECK(places(1) == std::vector<std::int32_t>{3});
  CHECK(places(2) == std::vector<std::int32_t>{0, 2, 5});
  CHECK(TouchedRows({}).size() == 0);
}

TEST_CASE("a table is a group of its own, in the memory that its model made") {
  TableModel model;
  const void* const memory = model.table->weight.const_data_ptr();
  const ParameterArena arena(model, sparse);
  REQUIRE(arena.groups().size() == 2);
  const ParameterGroup& table = arena.groups()[0];
  CHECK(table.table);
  CHECK(table.values.const_data_ptr() == memory);
  CHECK_FALSE(table.gradients.defined());
  CHECK(arena.numel() == 7 * 5 + 40 * 5 + 7 * 5);
}

TEST_CASE("the engine's row gradients add up to the dense gradient, over micro-batches too") {
  TrainConfig train = table_config(UpdateRule::adamw);
  train.grad_clip = 0;  // which would scale the dense gradients in place
  TableModel dense_model;
  ParameterArena dense_arena(dense_model, train);
  const auto dense_engine = make_engine("autograd", dense_model, dense_arena, train);
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7), formula_batch(1, 3, 4, 7)};
  const StepResult dense =
      make_step(*dense_engine, dense_arena, train, 1, {.step = 0, .seed = 5, .micro_batches = batches});
  Run run(sparse);
  const StepResult result = run.step(0, 2);
  CHECK(result.loss == dense.loss);
  CHECK(run.table().table->gradient.rows.numel() == 2 * 3 * 4);
  const torch::Tensor summed =
      torch::zeros({40, 5}).index_add_(0, run.table().table->gradient.rows, run.table().table->gradient.values);
  CHECK((summed.flatten() - dense_arena.groups()[0].gradients.narrow(0, 0, 200)).abs().max().item<double>() < 1e-7);
}

TEST_CASE("the gradient norm leaves tables out, and clipping leaves them alone") {
  TrainConfig free = sparse, clipped = sparse;
  free.grad_clip = 0;
  clipped.grad_clip = 1e-6;
  Run run(free), gentle(clipped);
  const StepResult result = run.step(0);
  CHECK(result.grad_norm == Approx(run.arena.groups()[1].gradients.norm().item<double>()));
  CHECK(run.arena.row_gradient_norm().item<double>() > 0);
  gentle.step(0);
  CHECK(torch::equal(gentle.table().values, run.table().values));
}

TEST_CASE("rows that no batch reached keep every bit, and gradients do not outlive their step") {
  Run run(sparse);
  for (int step = 0; step < 5; ++step) run.step(step);
  const torch::Tensor table = run.table().table->shaped(run.table().values);
  CHECK(table.narrow(0, 0, 14).abs().sum(1).min().item<double>() > 0);
  CHECK(table.narrow(0, 14, 26).abs().max().item<double>() == 0);
  run.arena.zero_gradients();
  CHECK_FALSE(run.table().table->gradient.rows.defined());
}

TEST_CASE("a row gradient that is not finite changes nothing") {
  Run run(sparse);
  run.step(0);
  {
    const torch::NoGradGuard no_grad;
    run.model.head->weight.fill_(1e30);  // the loss stays finite where the gradient's square does not
  }
  const torch::Tensor before = run.table().values.clone();
  CHECK_FALSE(run.step(1).updated);
  CHECK(torch::equal(run.table().values, before));
  CHECK(run.arena.updates() == 1);
}

TEST_CASE("the same bits for any number of threads") {
  const std::int64_t before = at::get_num_threads();
  const auto trained = [](int threads) {
    at::set_num_threads(threads);
    TableModel model(4000, 64);
    ParameterArena arena(model, sparse);
    ParameterGroup& group = arena.groups()[0];
    for (std::int64_t step = 0; step < 3; ++step) {
      group.table->gradient = {(torch::arange(3000, torch::kInt64) * (step + 7)).remainder(1711),
                               golden_weights({3000, 64}, static_cast<std::uint32_t>(step))};
      update(arena, {});
    }
    return group.values.clone();
  };
  CHECK(torch::equal(trained(1), trained(2)));
  at::set_num_threads(static_cast<int>(before));
}

TEST_CASE("decay shrinks a row when it is touched") {
  Run run(table_config(UpdateRule::sparse_adam, 0.1, 0.5));
  run.table().values.fill_(1);
  run.table().table->gradient = {torch::tensor({3}, torch::kInt64), torch::zeros({1, 5})};
  update(run.arena, {});
  CHECK(run.table().values[3 * 5].item<float>() == Approx(0.95));
  CHECK(run.table().values[4 * 5].item<float>() == 1);
}

TEST_CASE("a snapshot of a table undoes its rows, however often, and costs none of its size") {
  Run run(sparse), untouched(sparse);
  run.step(0);
  untouched.step(0);
  const ArenaSnapshot snapshot = run.arena.snapshot();
  CHECK_FALSE(snapshot.values[0].defined());
  for (int round = 0; round < 2; ++round) {
    run.step(1);
    run.step(2);
    CHECK_FALSE(torch::equal(run.table().values, untouched.table().values));
    run.arena.restore(snapshot);
    CHECK(torch::equal(run.table().values, untouched.table().values));
    CHECK(torch::equal(run.table().moment2, untouched.table().moment2));
    CHECK(run.arena.updates() == 1);
  }
  CHECK(run.step(1).loss == untouched.step(1).loss);
}

TEST_CASE("a snapshot of a table outlives the loading of other weights") {
  Run run(sparse), other(sparse);
  run.step(0);
  const torch::Tensor before = run.table().values.clone(), moment = run.table().moment2.clone();
  const ArenaSnapshot snapshot = run.arena.snapshot();
  other.step(3);
  std::vector<torch::Tensor> storage;
  std::vector<std::byte> weights, moments;
  const auto to = [](std::vector<std::byte>& file) {
    return [&file](std::span<const std::byte> part) { file.insert(file.end(), part.begin(), part.end()); };
  };
  write_safetensors(to(weights), other.arena.model_tensors(storage));
  write_safetensors(to(moments), other.arena.optimizer_tensors(storage));
  run.arena.load_model(SafetensorsFile(weights, "weights"), "weights");
  run.arena.load_optimizer(SafetensorsFile(moments, "moments"), "moments");
  CHECK(torch::equal(run.table().values, other.table().values));
  CHECK(torch::equal(run.table().moment2, other.table().moment2));
  run.arena.restore(snapshot);
  CHECK(torch::equal(run.table().values, before));
  CHECK(torch::equal(run.table().moment2, moment));
}

TEST_CASE("of two snapshots each comes back, in any order") {
  Run run(sparse);
  run.step(0);
  const ArenaSnapshot first = run.arena.snapshot();
  const torch::Tensor at_first = run.table().values.clone();
  run.step(1);
  const ArenaSnapshot second = run.arena.snapshot();
  const torch::Tensor at_second = run.table().values.clone();
  run.step(2);
  for (int round = 0; round < 2; ++round) {
    run.arena.restore(first);
    CHECK(torch::equal(run.table().values, at_first));
    run.arena.restore(second);
    CHECK(torch::equal(run.table().values, at_second));
  }
}

TEST_CASE("a snapshot before the first update leaves zeros, and one that is gone costs nothing") {
  Run run(sparse);
  {
    const ArenaSnapshot snapshot = run.arena.snapshot();
    run.step(0);
    run.arena.restore(snapshot);
    CHECK(run.table().values.abs().max().item<double>() == 0);
    CHECK(run.table().moment2.abs().max().item<double>() == 0);
    CHECK(run.table().table->has_snapshot());
  }
  CHECK_FALSE(run.table().table->has_snapshot());
}

TEST_CASE("a table in an adamw group is a dense parameter like any other") {
  Run run(table_config(UpdateRule::adamw));
  const double first = run.step(0).loss;
  for (int step = 1; step < 30; ++step) run.step(step);
  CHECK_FALSE(run.table().table);
  CHECK(run.step(30).loss < first);
}

TEST_CASE("training with a table lowers the loss") {
  Run run(sparse);
  const double first = run.step(0).loss;
  for (int step = 1; step < 100; ++step) run.step(step);
  CHECK(run.step(100).loss < 0.5 * first);
}

TEST_CASE("sparse_adam is refused for what is no table, and for one that the head uses too") {
  TableModel model;
  TrainConfig matrices = sparse;
  matrices.groups[0].match = "head";
  CHECK_THROWS_WITH(ParameterArena(model, matrices),
                    "train.groups: \"head\" has optimizer = sparse_adam, which is for tables looked up by row; "
                    "head.weight is none; let the pattern match tables only");
  TiedModel tied;
  TrainConfig embedding = sparse;
  embedding.groups[0].match = "wte";
  ParameterArena arena(tied, embedding);
  const auto engine = make_engine("autograd", tied, arena, embedding);
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  CHECK_THROWS_WITH(engine->gradients({.step = 0, .seed = 5, .micro_batches = batches}),
                    "train.groups: \"wte\" has optimizer = sparse_adam, but wte.weight is more than a table: all its "
                    "rows have gradients (the head uses it where model.tie_weights = true)");
}
