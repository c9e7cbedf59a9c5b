// The teaching notebook replayed from its own random stream (PyTorch's CPU generator, seed 1337) with our models,
// optimizer and engine: the first weights and the untrained sample exactly, the losses as PyTorch's within rounding.
// tests/golden/replay.json is what PyTorch gives; scripts/reference/replay.py writes and checks it.
#include "vectors.h"

#include <numeric>

#include "engine/engine.h"
#include "evaluate/split_loss.h"
#include "model_in_training.h"
#include "notebook.h"

namespace chargpt::seed {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json parsed = golden_file("replay.json");
  return parsed;
}

/// A model with the preset's optimizer and engine; a new one forgets the moments, as each of the notebook's runs does.
class Training {
 public:
  Training(LanguageModel& model, const std::string& rung)
      : train_(ladder(rung).train), in_training_(model, chosen_engine("auto", model.config(), train_, "cpu"), train_) {}
  /// Losses of `steps` steps, each before its update.
  std::vector<double> run(Notebook& notebook, std::int64_t steps) {
    std::vector<double> losses;
    for (std::int64_t step = 0; step < steps; ++step) {
      const WindowBatch batch = notebook.batch();
      losses.push_back(
          make_step(engine(), in_training_.arena, train_, 1, {.step = step, .micro_batches = {&batch, 1}}).loss);
    }
    return losses;
  }
  Engine& engine() { return *in_training_.engine; }

 private:
  TrainConfig train_;
  ModelInTraining in_training_;
};

double largest_difference(const std::vector<double>& losses, const nlohmann::json& expected) {
  REQUIRE(losses.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < losses.size(); ++i)
    largest = std::max(largest, std::abs(losses[i] - expected[i].get<double>()));
  return largest;
}

/// Over the whole split; no draw from the notebook's stream.
SplitLoss val_loss(Engine& engine) {
  return split_loss(engine, tinyshakespeare().val(), block_size);
}

/// Over the windows that the vectors' figures were measured on: 20,000, one every six windows' length from the start.
double train_loss(Engine& engine) {
  double sum = 0;
  for (const auto& begins : (torch::arange(20000) * 6 * block_size).split(2000))
    sum += losses_of(engine, Notebook::windows_at(begins)).mean(torch::kFloat64).item<double>() / 10;
  return sum;
}

double mean_of_last(const std::vector<double>& losses, std::ptrdiff_t count) {
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

/// Rounding grows with the steps: 0.005 is for 2000 of them.
void check_replayed(const Vector& v, const std::string& name, double actual, double margin = 0.005) {
  INFO(name << " = " << actual);
  CHECK(actual == Approx(v.expected(name).get<double>()).margin(margin).epsilon(0));
}

/// Mean loss of each position of whole windows.
torch::Tensor by_position(const SplitLoss& loss) {
  const auto whole = loss.tokens / block_size * block_size;
  return torch::tensor(torch::ArrayRef<float>(loss.losses).slice(0, static_cast<std::size_t>(whole)))
      .view({-1, block_size})
      .mean(0);
}

void check_accepted(const Vector& v, const std::string& name, double actual) {
  const auto& range = v.json()["accept"][name];
  INFO(name << " = " << actual);
  CHECK(actual >= range[0].get<double>());
  CHECK(actual <= range[1].get<double>());
}

/// The notebook's two runs of a small model: what the vector tells of each, and the printed loss. Returns the losses of
/// the validation split.
SplitLoss check_two_runs(const Vector& v, const std::string& rung, Notebook& notebook, LanguageModel& model) {
  const auto& told = v.json()["expected"];
  SplitLoss val;
  double last = 0;
  for (const std::string number : {"1", "2"}) {
    const auto losses = Training(model, rung).run(notebook, steps_per_run);
    const std::string after = "_after_" + number + "000";
    Training trained(model, rung);
    val = val_loss(trained.engine());
    last = losses.back();
    check_replayed(v, "replay_final_minibatch_loss_after_run_" + number, last);
    if (const auto name = "mean_last_100_run_" + number; told.contains(name))
      check_replayed(v, name, mean_of_last(losses, 100));
    if (told.contains("full_val_loss" + after)) check_replayed(v, "full_val_loss" + after, val.mean);
    if (!told.contains("full_train_loss" + after)) continue;
    const double train = train_loss(trained.engine());
    check_replayed(v, "full_train_loss" + after, train);
    CHECK(train >= v.json()["accept"].value("full_train_loss_at_least", 0.0));
  }
  check_accepted(v, "minibatch_loss", last);
  if (v.json()["accept"].contains("full_val_loss")) check_accepted(v, "full_val_loss", val.mean);
  CHECK(last == Approx(v.json()["printed"]["final_minibatch_loss"].get<double>()).margin(0.005).epsilon(0));
  return val;
}

}  // namespace

VECTOR_CASE(B03_get_batch_seed_1337, "the first batch of the stream, its offsets and its windows") {
  NEEDS_TINYSHAKESPEARE();
  const auto offsets = Notebook().offsets(v.value("batch_size").get<std::int64_t>());
  CHECK(torch::equal(offsets, v.ids("offsets")));
  const auto batch = Notebook::windows_at(offsets);
  v.check("x", inputs_of(batch));
  v.check("y", targets_of(batch));
}

TEST_CASE("B04_softmaxlm_untrained_loss: first weights and loss are PyTorch's to the last digit", "[vector]") {
  NEEDS_TINYSHAKESPEARE();
  const auto v = vector("B04_softmaxlm_untrained_loss");
  Notebook notebook;
  const auto batch = notebook.batch(4);
  auto model = draw_model(notebook, "bigram");
  const auto weights = model->named_parameters();
  CHECK(torch::equal(weights["wte.weight"], v.input("embedding")));
  CHECK(torch::equal(weights["lm_head.weight"], v.input("proj_weight")));
  CHECK(torch::equal(weights["lm_head.bias"], v.input("proj_bias")));
  const auto loss = losses_of(Training(*model, "bigram").engine(), batch).mean().item<double>();
  v.check("loss", loss);
  CHECK(loss == Approx(golden()["untrained_loss"].get<double>()).margin(1e-6).epsilon(0));
}

VECTOR_CASE(B05_untrained_sample_seed_1337, "the untrained model's hundred characters, each the same") {
  NEEDS_TINYSHAKESPEARE();
  Notebook notebook;
  notebook.offsets(4);
  auto model = draw_model(notebook, "bigram");
  const auto ids = notebook.sample(*model, v.value("new_tokens").get<std::int64_t>());
  CHECK(ids == v.expected("ids").get<std::vector<std::int64_t>>());
  CHECK(tinyshakespeare().vocabulary().decode(ids) == v.expected("text").get<std::string>());
}

TEST_CASE("the first hundred losses of the small models are PyTorch's") {
  NEEDS_TINYSHAKESPEARE();
  const struct {
    const char *rung, *system;
    Model (*in_stream)(Notebook& notebook);
  } models[]{
      {"bigram", "S10", bigram_in_stream}, {"average", "S11", average_in_stream}, {"masked", "S12", masked_in_stream}};
  for (const auto& [rung, system, in_stream] : models) {
    INFO(rung);
    Notebook notebook;
    const auto model = in_stream(notebook);
    const auto losses = Training(*model, rung).run(notebook, 100);
    CHECK(largest_difference(losses, golden()[system]["first_losses"]) < 1e-4);
  }
}

TEST_CASE("B10_qkv_causal_4x2: its layers and inputs lie where the stream has them", "[vector]") {
  NEEDS_TINYSHAKESPEARE();
  const auto v = vector("B10_qkv_causal_4x2");
  Notebook notebook;
  const auto example = small_attention_in_stream(notebook);
  CHECK(torch::equal(example.query->weight, v.input("W_q")));
  CHECK(torch::equal(example.query->bias, v.input("b_q")));
  CHECK(torch::equal(example.key->weight, v.input("W_k")));
  CHECK(torch::equal(example.value->bias, v.input("b_v")));
  CHECK(torch::equal(example.inputs, v.input("inp")));
}

TEST_CASE("the transformer's first loss is the notebook's 4.651000, and the first twenty are PyTorch's") {
  NEEDS_TINYSHAKESPEARE();
  Notebook notebook;
  auto model = transformer_in_stream(notebook);
  const auto losses = Training(*model, "transformer").run(notebook, 20);
  CHECK(losses.front() == Approx(4.651000022888184).margin(1e-5).epsilon(0));
  CHECK(largest_difference(losses, golden()["S14"]["first_losses"]) < 1e-4);
}

TEST_CASE("B20_train_bigram: what counting single characters and pairs gives on this text", "[vector]") {
  NEEDS_TINYSHAKESPEARE();
  const auto v = vector("B20_train_bigram");
  const auto ids_of = [](TokenView split) {
    auto ids = torch::empty({split.size()}, torch::kInt64);
    split.copy(0, split.size(), ids.data_ptr<std::int64_t>());
    return ids;
  };
  const auto train = ids_of(tinyshakespeare().train()), val = ids_of(tinyshakespeare().val());
  const std::int64_t V = vocab_size();
  const auto pairs_of = [V](const torch::Tensor& ids) {  // (n) -> (n - 1)
    return ids.slice(0, 0, ids.size(0) - 1) * V + ids.slice(0, 1);
  };
  const auto pairs = torch::bincount(pairs_of(train), {}, V * V).to(torch::kFloat64).view({V, V});
  const auto firsts = pairs.sum(1, /*keepdim=*/true);
  const auto cost = [](const torch::Tensor& counts, const torch::Tensor& totals) {
    return -torch::xlogy(counts, counts / totals).sum().item<double>();
  };
  check_replayed(v, "uniform", std::log(static_cast<double>(V)), 1e-9);
  check_replayed(v, "unigram_train_entropy", cost(firsts, firsts.sum()) / firsts.sum().item<double>(), 1e-9);
  check_replayed(v, "bigram_count_train_entropy_floor", cost(pairs, firsts) / pairs.sum().item<double>(), 1e-9);
  const auto smoothed = (pairs + 0.1) / (firsts + 0.1 * static_cast<double>(V));
  const auto val_loss = -smoothed.view({-1}).index_select(0, pairs_of(val)).log().mean().item<double>();
  check_replayed(v, "bigram_count_val_add_0p1", val_loss, 5e-5);
}

VECTOR_CASE(B20_train_bigram, "two runs end at the printed loss, above what counting pairs allows", "[long]") {
  NEEDS_TINYSHAKESPEARE();
  Notebook notebook;
  auto model = bigram_in_stream(notebook);
  check_two_runs(v, "bigram", notebook, *model);
}

VECTOR_CASE(B21_train_averaging, "two runs end at the printed loss, which the last position shows to leak", "[long]") {
  NEEDS_TINYSHAKESPEARE();
  Notebook notebook;
  auto model = average_in_stream(notebook);
  const auto positions = by_position(check_two_runs(v, "average", notebook, *model));
  const auto expected = to_tensor(v.expected("val_loss_per_position_after_2000"));
  CHECK(seed::largest_difference(positions, expected) < 0.02);
  CHECK(positions[-1].item<double>() >= v.json()["accept"]["last_position_val_loss_at_least"].get<double>());
}

VECTOR_CASE(B22_train_masked_dot, "two runs end at the printed loss, each character attending to itself", "[long]") {
  NEEDS_TINYSHAKESPEARE();
  Notebook notebook;
  auto model = masked_in_stream(notebook);
  check_two_runs(v, "masked", notebook, *model);
  AttentionMaps maps;
  model->forward(inputs_of(notebook.batch()), {.attention = &maps});
  const auto on_itself = maps.at(0).diagonal(0, -2, -1).mean().item<double>();
  CHECK(on_itself >= v.json()["accept"]["mean_diagonal_attention_weight_at_least"].get<double>());
}

/// The transformer after the notebook's 10,000 steps, and the stream behind them; trained once for both cases below.
/// Whole splits are measured after 8,500, as the vectors have them.
struct TrainedTransformer {
  Notebook notebook;
  Model model = transformer_in_stream(notebook);
  std::vector<double> losses;
  double train_loss_at_8500 = 0;
  SplitLoss val_loss_at_8500;

  TrainedTransformer() {
    Training training(*model, "transformer");
    losses = training.run(notebook, 8500);
    train_loss_at_8500 = train_loss(training.engine());
    val_loss_at_8500 = val_loss(training.engine());
    for (const double loss : training.run(notebook, 1500)) losses.push_back(loss);
  }
};

/// Losses of single batches, all of the same batches, so that only rounding tells them apart.
void check_log(const std::vector<double>& losses, const nlohmann::json& steps, const nlohmann::json& logged) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double actual = losses.at(steps[i].get<std::size_t>()), expected = logged[i].get<double>();
    INFO("step " << steps[i] << ": " << actual << ", logged " << expected);
    CHECK(std::abs(actual - expected) < 0.05);
  }
}

TrainedTransformer& trained_transformer() {
  static TrainedTransformer trained;
  return trained;
}

VECTOR_CASE(B23_train_transformer_10k, "10,000 steps follow the printed log and end in its range", "[soak]") {
  NEEDS_TINYSHAKESPEARE();
  const auto& trained = trained_transformer();
  check_log(trained.losses, v.json()["printed"]["step"], v.json()["printed"]["loss"]);
  check_log(trained.losses, v.expected("replay_step"), v.expected("replay_loss"));
  check_accepted(v, "initial_loss", trained.losses[0]);
  check_accepted(v, "minibatch_loss_at_500", trained.losses[500]);
  check_accepted(v, "minibatch_loss_at_2000", trained.losses[2000]);
  check_accepted(v, "minibatch_loss_at_10000", trained.losses.back());
  check_accepted(v, "full_val_loss_at_10000", val_loss(Training(*trained.model, "transformer").engine()).mean);
  check_replayed(v, "full_train_loss_at_8500", trained.train_loss_at_8500, 0.02);
  check_replayed(v, "full_val_loss_at_8500", trained.val_loss_at_8500.mean, 0.02);
  const auto positions = by_position(trained.val_loss_at_8500);
  CHECK(seed::largest_difference(positions, to_tensor(v.expected("val_loss_per_position_at_8500"))) < 0.03);
}

VECTOR_CASE(B24_train_transformer_continued_20k, "20,000 further steps stay in the printed range", "[soak]") {
  NEEDS_TINYSHAKESPEARE();
  auto& trained = trained_transformer();
  const auto further =
      Training(*trained.model, "transformer").run(trained.notebook, v.value("steps").get<std::int64_t>());
  check_accepted(v, "minibatch_loss_at_end", further.back());
  // A last batch is noise of 0.03; the mean says that nothing was lost either.
  CHECK(mean_of_last(further, 1000) < mean_of_last(trained.losses, 1000));
}

}  // namespace chargpt::seed
