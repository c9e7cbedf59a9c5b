// The teaching notebook replayed from its own random stream (PyTorch's CPU generator, seed 1337) with our models,
// optimizer and engine: the first weights and the untrained sample exactly, the losses as PyTorch's within rounding.
// tests/golden/replay.json is what PyTorch gives; scripts/reference/replay.py writes and checks it.
//
// A model's place in the stream depends only on how many numbers were drawn before it, not on what they were used for.
// So every part starts by skipping to its place, and none has to train those before it.
#include "vectors.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <numeric>

#include "engine/engine.h"
#include "evaluate/split_loss.h"
#include "initialise_pytorch.h"
#include "model/registry.h"
#include "model_in_training.h"
#include "needs_text.h"
#include "teaching_models.h"
#include "text/corpus.h"
#include "tinyshakespeare.h"
#include "windows_of.h"

namespace chargpt::seed {
namespace {

constexpr std::int64_t block_size = 8;
constexpr std::int64_t batch_size = 128;
constexpr std::int64_t steps_per_run = 1000;

const nlohmann::json& golden() {
  static const nlohmann::json parsed = golden_file("replay.json");
  return parsed;
}

std::int64_t vocab_size() {
  return tinyshakespeare().vocabulary().size();
}

/// The notebook's stream and what it draws from it, beside first weights.
class Notebook {
 public:
  Notebook() : generator_(at::make_generator<at::CPUGeneratorImpl>(1337)) {}
  const at::Generator& generator() const { return generator_; }

  torch::Tensor offsets(std::int64_t count) {
    return torch::randint(tinyshakespeare().train().size() - block_size, {count}, generator_, torch::kInt64);
  }

  static WindowBatch windows_at(const torch::Tensor& offsets) {
    torch::Tensor ids = torch::empty({offsets.numel(), block_size + 1}, torch::kInt64);
    for (std::int64_t row = 0; row < offsets.numel(); ++row)
      tinyshakespeare().train().copy(offsets[row].item<std::int64_t>(), block_size + 1,
                                     ids[row].data_ptr<std::int64_t>());
    return windows_of(ids);
  }

  WindowBatch batch(std::int64_t count = batch_size) { return windows_at(offsets(count)); }

  /// `count` ids after a newline, each from the distribution of the last position.
  std::vector<std::int64_t> sample(LanguageModel& model, std::int64_t count) {
    const torch::NoGradGuard no_grad;
    auto ids = torch::zeros({1, 1}, torch::kInt64);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto seen = ids.slice(1, std::max<std::int64_t>(0, ids.size(1) - block_size));
      const auto probabilities = torch::softmax(model.forward(seen).select(1, -1), -1);  // (1, V)
      ids = torch::cat({ids, torch::multinomial(probabilities, 1, false, generator_)}, 1);
    }
    return {ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel()};
  }

  void skip_batches(std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) offsets(batch_size);
  }
  void skip_sample(std::int64_t tokens) {
    const auto uniform = torch::full({1, vocab_size()}, 1.0 / static_cast<double>(vocab_size()));
    for (std::int64_t i = 0; i < tokens; ++i) torch::multinomial(uniform, 1, false, generator_);
  }
  /// The two runs of one of the small models, and the sample after them.
  void skip_training(std::int64_t sampled_tokens) {
    skip_batches(2 * steps_per_run);
    skip_sample(sampled_tokens);
  }

 private:
  at::Generator generator_;
};

/// A model of the ladder with its weights drawn where the notebook draws them.
std::shared_ptr<LanguageModel> draw_model(Notebook& notebook, const std::string& rung) {
  auto model = make_model(ladder(rung).model, vocab_size(), /*seed=*/0);
  initialise_pytorch(*model, notebook.generator());
  return model;
}

torch::nn::Linear draw_linear(Notebook& notebook, std::int64_t in, std::int64_t out, bool bias) {
  torch::nn::Linear layer(torch::nn::LinearOptions(in, out).bias(bias));
  initialise_pytorch(*layer, notebook.generator());
  return layer;
}

torch::Tensor draw_embedding(Notebook& notebook, std::int64_t rows, std::int64_t n_embd) {
  torch::nn::Embedding table(rows, n_embd);
  initialise_pytorch(*table, notebook.generator());
  return table->weight;
}

/// The notebook's order differs from ours in one layer, which it never uses: it is drawn before the head.
std::shared_ptr<LanguageModel> draw_masked(Notebook& notebook) {
  auto model = make_model(ladder("masked").model, vocab_size(), /*seed=*/0);
  set_parameter(*model, "wte.weight", draw_embedding(notebook, vocab_size(), 64));
  set_parameter(*model, "wpe.weight", draw_embedding(notebook, block_size, 64));
  draw_linear(notebook, 64, block_size, /*bias=*/true);
  const auto head = draw_linear(notebook, 64, vocab_size(), /*bias=*/true);
  set_parameter(*model, "lm_head.weight", head->weight);
  set_parameter(*model, "lm_head.bias", head->bias);
  return model;
}

void draw_block(Notebook& notebook, LanguageModel& model, const std::string& prefix) {
  const auto key = draw_linear(notebook, 64, 64, false), query = draw_linear(notebook, 64, 64, false),
             value = draw_linear(notebook, 64, 64, false);
  set_parameter(model, prefix + "attn.c_attn.weight", packed(query->weight, key->weight, value->weight));
  const auto widen = draw_linear(notebook, 64, 256, true), narrow = draw_linear(notebook, 256, 64, true);
  set_parameter(model, prefix + "mlp.c_fc.weight", widen->weight);
  set_parameter(model, prefix + "mlp.c_fc.bias", widen->bias);
  set_parameter(model, prefix + "mlp.c_proj.weight", narrow->weight);
  set_parameter(model, prefix + "mlp.c_proj.bias", narrow->bias);
}

/// Ours packs queries, keys and values, the notebook draws keys, queries, values apart.
std::shared_ptr<LanguageModel> draw_transformer(Notebook& notebook) {
  auto model = make_model(ladder("transformer").model, vocab_size(), /*seed=*/0);
  set_parameter(*model, "transformer.wte.weight", draw_embedding(notebook, vocab_size(), 64));
  set_parameter(*model, "transformer.wpe.weight", draw_embedding(notebook, block_size, 64));
  for (const auto* prefix : {"transformer.h.0.", "transformer.h.1.", "transformer.h.2."})
    draw_block(notebook, *model, prefix);
  const auto head = draw_linear(notebook, 64, vocab_size(), true);
  set_parameter(*model, "lm_head.weight", head->weight);
  set_parameter(*model, "lm_head.bias", head->bias);
  return model;
}

// Where each model begins in the stream.

std::shared_ptr<LanguageModel> bigram_in_stream(Notebook& notebook) {
  notebook.offsets(4);
  auto model = draw_model(notebook, "bigram");
  notebook.skip_sample(100);
  return model;
}

std::shared_ptr<LanguageModel> average_in_stream(Notebook& notebook) {
  bigram_in_stream(notebook);
  notebook.skip_training(500);
  return draw_model(notebook, "average");
}

std::shared_ptr<LanguageModel> masked_in_stream(Notebook& notebook) {
  average_in_stream(notebook);
  notebook.skip_training(50);
  return draw_masked(notebook);
}

/// Weights of the small attention example between the two models, and its inputs.
struct SmallAttention {
  torch::nn::Linear query{nullptr}, key{nullptr}, value{nullptr};
  torch::Tensor inputs;
};

SmallAttention small_attention_in_stream(Notebook& notebook) {
  masked_in_stream(notebook);
  notebook.skip_training(500);
  SmallAttention example;
  example.query = draw_linear(notebook, 2, 2, true);
  example.key = draw_linear(notebook, 2, 2, true);
  example.value = draw_linear(notebook, 2, 2, true);
  example.inputs = torch::randn({4, 2}, notebook.generator());
  return example;
}

std::shared_ptr<LanguageModel> transformer_in_stream(Notebook& notebook) {
  small_attention_in_stream(notebook);
  return draw_transformer(notebook);
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

/// Figures of a trained model over a whole split; no draw from the notebook's stream.
SplitLoss validation_loss(LanguageModel& model, const std::string& rung) {
  return split_loss(Training(model, rung).engine(), tinyshakespeare().val(), block_size);
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
    val = split_loss(trained.engine(), tinyshakespeare().val(), block_size);
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
    std::shared_ptr<LanguageModel> (*in_stream)(Notebook& notebook);
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

VECTOR_CASE(B20_train_bigram, "two runs of 1000 steps end at the printed loss, above what counting pairs allows",
            "[long]") {
  NEEDS_TINYSHAKESPEARE();
  Notebook notebook;
  auto model = bigram_in_stream(notebook);
  check_two_runs(v, "bigram", notebook, *model);
}

VECTOR_CASE(B21_train_averaging, "two runs end at the printed loss, which the last position alone shows to be a leak",
            "[long]") {
  NEEDS_TINYSHAKESPEARE();
  Notebook notebook;
  auto model = average_in_stream(notebook);
  const auto positions = by_position(check_two_runs(v, "average", notebook, *model));
  const auto expected = to_tensor(v.expected("val_loss_per_position_after_2000"));
  CHECK(seed::largest_difference(positions, expected) < 0.02);
  CHECK(positions[-1].item<double>() >= v.json()["accept"]["last_position_val_loss_at_least"].get<double>());
}

VECTOR_CASE(B22_train_masked_dot, "two runs end at the printed loss, with every character attending to itself",
            "[long]") {
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
  std::shared_ptr<LanguageModel> model = transformer_in_stream(notebook);
  std::vector<double> losses;
  double train_loss_at_8500 = 0;
  SplitLoss val_loss_at_8500;

  TrainedTransformer() {
    Training training(*model, "transformer");
    losses = training.run(notebook, 8500);
    train_loss_at_8500 = train_loss(training.engine());
    val_loss_at_8500 = split_loss(training.engine(), tinyshakespeare().val(), block_size);
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
  check_accepted(v, "full_val_loss_at_10000", validation_loss(*trained.model, "transformer").mean);
  check_replayed(v, "full_train_loss_at_8500", trained.train_loss_at_8500, 0.02);
  check_replayed(v, "full_val_loss_at_8500", trained.val_loss_at_8500.mean, 0.02);
  const auto positions = by_position(trained.val_loss_at_8500);
  CHECK(seed::largest_difference(positions, to_tensor(v.expected("val_loss_per_position_at_8500"))) < 0.03);
}

VECTOR_CASE(B24_train_transformer_continued_20k, "20,000 further steps with a new optimizer stay in the printed range",
            "[soak]") {
  NEEDS_TINYSHAKESPEARE();
  auto& trained = trained_transformer();
  const auto further =
      Training(*trained.model, "transformer").run(trained.notebook, v.value("steps").get<std::int64_t>());
  check_accepted(v, "minibatch_loss_at_end", further.back());
  // A last batch is noise of 0.03; the mean says that nothing was lost either.
  CHECK(mean_of_last(further, 1000) < mean_of_last(trained.losses, 1000));
}

}  // namespace chargpt::seed
