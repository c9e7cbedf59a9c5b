// The CPU engine against the libtorch engine: loss, every gradient, evaluation and curves, over all types and options.
#include "engine/cpu_engine.h"

#include <torch/types.h>

#include "base/error.h"
#include "kernels/bf16.h"
#include "kernels/kernels.h"
#include "model/registry.h"
#include "model/variants.h"

#include "kernels/needs_bf16.h"
#include "model_in_training.h"
#include "threads_in_force.h"
#include "tiny_arena.h"

using namespace chargpt;

namespace {

struct TwoThreads {
  const Threads threads{2};
};

struct Subject : ModelInTraining {
  Subject(const ModelConfig& config, const std::string& engine_name, const TrainConfig& train = {},
          bool disturbed = false)
      : ModelInTraining(disturbed ? disturbed_model(config) : make_model(config, test_vocab, 3), engine_name, train) {}
};

/// The largest error of a gradient relative to its tensor's norm, and its name.
struct Worst {
  double error = 0;
  std::string name;
};

Worst worst_gradient(const ParameterArena& expected, const ParameterArena& got) {
  Worst worst;
  const double floor = 1e-6 * expected.gradient_norm();  // of tensors whose true gradient is zero
  const torch::Tensor right = tensor_of(expected.gradients), found = tensor_of(got.gradients);
  for (const Parameter& parameter : expected.parameters()) {
    const auto of = [&](const torch::Tensor& buffer) { return buffer.narrow(0, parameter.offset, parameter.numel()); };
    const double difference = (of(right) - of(found)).norm().item<double>();
    const double error = difference / std::max(floor, of(right).norm().item<double>());
    if (!(error <= worst.error)) worst = {error, parameter.name};
  }
  return worst;
}

/// One step by both engines: the same loss, and every gradient within 1e-4 of its tensor's norm.
void check_agreement(const ModelConfig& config, const std::vector<WindowBatch>& batches, const TrainConfig& train = {},
                     const SoftTargets& soft = {}) {
  Subject reference(config, "libtorch", train, /*disturbed=*/true), fast(config, "cpu", train, /*disturbed=*/true);
  REQUIRE(fast.engine->name() == "cpu");
  const Gradients expected = reference.step(3, batches, soft), result = fast.step(3, batches, soft);
  CHECK(result.loss == Approx(expected.loss).epsilon(1e-5));
  CHECK(result.norm == Approx(expected.norm).epsilon(1e-4));
  const Worst worst = worst_gradient(reference.arena, fast.arena);
  INFO("worst gradient: " << worst.name << ", " << worst.error);
  CHECK(worst.error <= 1e-4);
}

}  // namespace

TEST_CASE_METHOD(TwoThreads, "loss and every gradient are autograd's, over all types and options") {
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    check_agreement(variant.config, {some_batch(5, 8)});
  }
}

TEST_CASE_METHOD(TwoThreads, "gradients agree for odd batches, short windows, many heads and long windows") {
  ModelConfig config = small_config();
  config.block_size = 300;
  config.bias = true;
  for (const auto& [B, T] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 8}, {3, 1}, {7, 5}, {2, 64}, {3, 129}, {1, 300}}) {
    INFO("B = " << B << ", T = " << T);
    check_agreement(config, {some_batch(B, T)});
  }
  for (const auto& [heads, size] : {std::pair<std::int64_t, std::int64_t>{3, 8}, {5, 6}, {1, 40}, {24, 1}, {2, 33}}) {
    INFO("heads " << heads << " of " << size);
    config.n_head = heads;
    config.head_size = size;
    check_agreement(config, {some_batch(4, 21)});
  }
}

TEST_CASE("gradients agree with one thread, three, and more than there are windows") {
  ModelConfig config = small_config();
  config.dropout = 0.2;
  for (const int count : {1, 3, 7}) {
    INFO(count << " threads");
    const Threads threads(count);
    check_agreement(config, {some_batch(2, 8), some_batch(5, 8, 3), some_batch(1, 3, 7)});
  }
}

TEST_CASE("gradients of soft targets agree, for batches of any size and documents, and losses are the text's") {
  ModelConfig config = small_config();
  config.dropout = 0.2;
  const std::vector<WindowBatch> batches{some_batch(2, 8), some_batch(20, 8, 3), some_batch(1, 3, 7)};
  std::vector<WindowBatch> documents = batches;
  for (WindowBatch& windows : documents)  // the last targets of a window may be of a document that goes on
    windows.tokens = TokenView(windows.tokens.bytes().data(), windows.tokens.width(), windows.tokens.size(), 2);
  std::int64_t places = 0, counted = 0;
  for (const WindowBatch& windows : documents) places += windows.numel(), counted += windows.counted();
  CHECK(counted < places);
  const torch::Tensor q = torch::softmax(
      3 * torch::sin(torch::arange(places * test_vocab, torch::kFloat32)).view({places, test_vocab}), -1);
  const std::span<const float> all(q.const_data_ptr<float>(), static_cast<std::size_t>(q.numel()));
  const double plain = Subject(config, "cpu", {}, true).step(3, batches).loss;
  for (const int count : {1, 3, 7})
    for (const float weight : {0.0F, 0.4F, 1.0F}) {
      INFO(count << " threads, weight " << weight);
      const Threads threads(count);
      check_agreement(config, batches, {}, {all, weight});
      check_agreement(config, documents, {}, {all, weight});
      CHECK(Subject(config, "cpu", {}, true).step(3, batches, {all, weight}).loss == Approx(plain));
    }
}

TEST_CASE("losses of windows have the same bits with any number of threads") {
  Subject subject(small_config(), "cpu");
  const WindowBatch batch = some_batch(5, 8);
  const torch::Tensor alone = [&] {
    const Threads threads(1);
    return losses_of(*subject.engine, batch);
  }();
  for (const int count : {2, 3, 7}) {
    const Threads threads(count);
    CHECK(torch::equal(losses_of(*subject.engine, batch), alone));
  }
}

TEST_CASE_METHOD(TwoThreads, "dropout drops the same elements in both engines, at every place") {
  ModelConfig config = small_config();
  config.dropout = 0.3;
  check_agreement(config, {some_batch(5, 8), some_batch(5, 8, 2)});
  for (const Place place : {Place::embedding, Place::attention, Place::attention_output, Place::mlp}) {
    INFO(enum_name(place));
    config.dropout_places = {place};
    check_agreement(config, {some_batch(3, 7)});
  }
  config.dropout_places = {Place::attention, Place::attention_output};
  config.output_projection = false;
  config.norm_place = NormPlace::post;
  check_agreement(config, {some_batch(3, 7)});
  config = small_config("attention");
  config.dropout = 0.3;
  check_agreement(config, {some_batch(3, 7)});
}

TEST_CASE_METHOD(TwoThreads,
                 "parts of every micro-batch, each computed as a rank would, sum up to the step's loss and gradients") {
  ModelConfig config = small_config();
  config.dropout = 0.3;
  const std::vector<WindowBatch> batches{some_batch(5, 8), some_batch(5, 8, 2)};
  for (const std::string engine : {"libtorch", "cpu"}) {
    INFO(engine);
    Subject whole(config, engine, {}, /*disturbed=*/true), parts(config, engine, {}, /*disturbed=*/true);
    const Gradients expected = whole.engine->gradients({.step = 3, .seed = 5, .micro_batches = batches, .tokens = 80});
    torch::Tensor sum = torch::zeros_like(tensor_of(parts.arena.gradients));
    double loss = 0;
    for (const auto& [first, size] : {std::pair{0, 2}, std::pair{2, 1}, std::pair{3, 2}}) {
      const std::vector<WindowBatch> own{batches[0].part(first, size), batches[1].part(first, size)};
      const GradientInput input{.step = 3, .seed = 5, .micro_batches = own, .first_window = first, .tokens = 80};
      loss += parts.engine->gradients(input).loss;
      sum += tensor_of(parts.arena.gradients);
    }
    CHECK(loss == Approx(expected.loss).epsilon(1e-6));
    tensor_of(parts.arena.gradients).copy_(sum);
    CHECK(worst_gradient(whole.arena, parts.arena).error <= 1e-5);
  }
}

TEST_CASE_METHOD(TwoThreads, "bfloat16 moves every gradient by no more than its rounding, and the curve by little") {
  if (needed_bf16_kernels() == nullptr) return;
  const TrainConfig rounded{.dtype = Dtype::bfloat16};
  ModelConfig odd = small_config();
  odd.bias = true;
  odd.head_size = 5;
  odd.mlp_size = 7;
  odd.activation = Activation::swiglu;
  for (const ModelConfig& config : {small_config(), odd}) {
    Subject reference(config, "libtorch", {}, /*disturbed=*/true), fast(config, "cpu", rounded, /*disturbed=*/true);
    const WindowBatch batch = some_batch(5, 8);
    const double scored = losses_of(*fast.engine, batch).mean().item<double>();  // in float32
    const double expected = reference.step(0, {batch}).loss, loss = fast.step(0, {batch}).loss;
    CHECK(scored == Approx(expected).epsilon(1e-5));
    CHECK(loss != expected);  // it did round
    CHECK(loss == Approx(expected).epsilon(0.01));
    const Worst worst = worst_gradient(reference.arena, fast.arena);
    INFO("worst gradient: " << worst.name << ", " << worst.error);
    CHECK(worst.error < 0.05);
    double sum = 0, expected_sum = 0;  // of the curve: single steps of so small a model differ by more
    for (std::int64_t step = 1; step < 100; ++step) {
      const std::vector<WindowBatch> batches{some_batch(6, 8, step % 7)};
      sum += fast.step(step, batches).loss;
      expected_sum += reference.step(step, batches).loss;
    }
    CHECK(sum == Approx(expected_sum).epsilon(0.02));
  }
}

TEST_CASE("a loss that is not finite changes nothing") {
  for (const std::string engine : {"cpu", "libtorch"}) {
    INFO(engine);
    Subject subject(small_config(), engine);
    const std::vector<WindowBatch> batches{some_batch(3, 8)};
    subject.step(0, batches);
    values_of(subject.arena, "transformer.h.0.mlp.c_fc.weight")[0] = std::nanf("");
    const ArenaCopy before(subject.arena);
    const Gradients result = subject.step(1, batches);
    CHECK_FALSE(result.finite());
    CHECK_FALSE(std::isfinite(result.loss));
    CHECK(before.has_bits_of(subject.arena));
  }
}

TEST_CASE("a gradient too large for its norm changes nothing, though the loss is finite") {
  ModelConfig config = small_config();
  config.tie_weights = false;
  for (const std::string engine : {"cpu", "libtorch"}) {
    INFO(engine);
    Subject subject(config, engine);
    std::ranges::fill(values_of(subject.arena, "transformer.ln_f.weight"), 0.0F);  // all logits are 0
    std::ranges::fill(values_of(subject.arena, "lm_head.weight"), 0.0F);
    values_of(subject.arena, "lm_head.weight")[0] = 3e38F;
    const ArenaCopy before(subject.arena);
    const Gradients result = subject.step(0, {some_batch(3, 8)});
    CHECK(result.loss == Approx(std::log(test_vocab)));
    CHECK_FALSE(std::isfinite(result.norm));
    CHECK_FALSE(result.finite());
    CHECK(before.has_bits_of(subject.arena));
  }
}

TEST_CASE("an id outside the vocabulary and a window longer than block_size are refused") {
  Subject subject(small_config(), "cpu");
  torch::Tensor ids = some_ids(2, 9);
  ids[1][4] = test_vocab;
  CHECK_THROWS_WITH(subject.step(0, {windows_of(ids)}),
                    Catch::Contains("a window has id 13; the model has ids 0 to 12"));
  CHECK_THROWS_WITH(losses_of(*subject.engine, some_batch(2, 9)), Catch::Contains("T = 9"));
}

namespace {

constexpr std::int64_t document = test_vocab - 1;

/// Windows of `T` ids of a text whose documents have these lengths; the id between them stands before and after each.
WindowBatch windows_of_documents(const std::vector<std::int64_t>& lengths, std::int64_t T,
                                 std::vector<std::int64_t> starts) {
  static std::deque<std::vector<std::uint8_t>> texts;
  static std::deque<std::vector<std::int64_t>> all_starts;
  std::vector<std::uint8_t>& text = texts.emplace_back();
  for (const std::int64_t length : lengths) {
    text.push_back(document);
    for (std::int64_t i = 0; i < length; ++i) text.push_back(static_cast<std::uint8_t>(text.size() * 7 % document));
  }
  text.push_back(document);
  return {.tokens = TokenView(text.data(), 1, std::ssize(text), document),
          .starts = all_starts.emplace_back(std::move(starts)),
          .T = T};
}

/// Documents of 3, 1, 6 and 2 ids in one window; the last target of the window is that of a document that it cuts off.
WindowBatch packed() {
  return windows_of_documents({3, 1, 6, 2, 4}, 17, {0});
}
/// The same documents, each in a window of its own.
std::vector<WindowBatch> one_by_one() {
  std::vector<WindowBatch> windows;
  std::int64_t begin = 0;
  for (const std::int64_t length : {3, 1, 6, 2}) {
    windows.push_back(windows_of_documents({3, 1, 6, 2, 4}, length + 1, {begin}));
    begin += length + 1;
  }
  return windows;
}

}  // namespace

TEST_CASE_METHOD(TwoThreads,
                 "documents packed into one window have the losses and gradients that they have one by one") {
  int compared = 0;
  for (Variant variant : all_variants()) {
    variant.config.block_size = 20;
    if (!variant.config.causal || variant.config.dropout > 0) continue;
    for (const std::string engine : {"libtorch", "cpu"}) {
      INFO(variant.name << ", " << engine);
      Subject together(variant.config, engine, {}, /*disturbed=*/true);
      Subject apart(variant.config, engine, {}, /*disturbed=*/true);
      const torch::Tensor losses = losses_of(*together.engine, packed()).view({-1});
      std::vector<torch::Tensor> expected;
      for (const WindowBatch& window : one_by_one()) expected.push_back(losses_of(*apart.engine, window).view({-1}));
      expected.push_back(torch::zeros({1}));  // the document that is cut off
      CHECK(largest_difference(losses, at::cat(expected)) < 1e-5);

      const std::vector<WindowBatch> batch{packed()}, batches = one_by_one();
      const Gradients whole =
          together.engine->gradients({.step = 1, .seed = 1, .micro_batches = batch, .tokens = counted(batch)});
      const Gradients parts =
          apart.engine->gradients({.step = 1, .seed = 1, .micro_batches = batches, .tokens = counted(batches)});
      CHECK(whole.loss == Approx(parts.loss).epsilon(1e-5));
      CHECK(worst_gradient(apart.arena, together.arena).error <= 1e-4);
      ++compared;
    }
  }
  CHECK(compared > 80);
}

TEST_CASE_METHOD(TwoThreads, "the engines agree on documents, with dropout too, short and long, whole and cut") {
  ModelConfig config = small_config();
  config.block_size = 40;
  config.conv_places = {Place::attention, Place::mlp};
  for (const Position position : {Position::learned, Position::sinusoidal, Position::rope, Position::none}) {
    INFO(enum_name(position));
    config.position = position;
    config.dropout = 0;
    check_agreement(config, {packed(), windows_of_documents({50, 2, 3, 70}, 33, {0, 20, 51, 80})});
    config.dropout = 0.3;
    check_agreement(config, {packed(), windows_of_documents({50, 2, 3, 70}, 33, {0, 20, 51, 80})});
  }
}
