// Decoding with a model whose logits are an exact function of the whole window, so that any slip of position, cache or
// batch shows.
#include "engine/module_decoding.h"

#include <torch/types.h>

#include <map>

#include "base/error.h"
#include "inference/model_types.h"
#include "model/registry.h"
#include "test.h"

namespace chargpt {
namespace {

ModelConfig small_config(std::int64_t block_size) {
  ModelConfig config;
  config.type = "hash";
  config.block_size = block_size;
  config.n_layer = 1;
  config.n_head = 1;
  config.n_embd = 4;
  return config;
}

/// Logits of position t are sin(3.7 h v) for symbol v, where h hashes every token up to t with its position; all in
/// whole numbers.
class HashModel : public LanguageModel {
 public:
  HashModel(std::int64_t block_size, std::int64_t vocab_size, bool cache)
      : LanguageModel(small_config(block_size), vocab_size), cache_(cache) {}
  bool has_cache() const override { return cache_; }

  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context) override {
    const std::int64_t before = context.cache ? context.cache->length : 0;
    if (before + ids.size(1) > block_size()) throw std::runtime_error("window longer than block_size");
    batch_sizes.push_back(ids.size(0));
    fed.push_back(ids.size(1));
    torch::Tensor all = ids.to(torch::kFloat64).unsqueeze(1).unsqueeze(3);  // (B, 1, T, 1)
    if (context.cache) all = remember(*context.cache, all);
    const torch::Tensor position = torch::arange(all.size(2), torch::kFloat64).view({1, 1, -1, 1});
    torch::Tensor hash = ((all + 1) * (2 * position + 1)).cumsum(2).remainder(101).view({all.size(0), -1, 1});
    hash = hash.narrow(1, before, ids.size(1));                                         // (B, T, 1)
    const torch::Tensor symbols = torch::arange(1, vocab_size() + 1, torch::kFloat64);  // (V)
    return (3 * torch::sin(3.7 * hash * symbols)).to(torch::kFloat32);                  // (B, T, V)
  }

  std::vector<std::int64_t> batch_sizes, fed;

 private:
  static torch::Tensor remember(KeyValueCache& cache, const torch::Tensor& keys) {
    cache.layers.resize(1);
    torch::Tensor& held = cache.layers[0].keys;
    held = held.defined() ? torch::cat({held, keys}, 2) : keys;
    cache.layers[0].values = held;
    cache.length = held.size(2);
    return held;
  }
  bool cache_;
};

/// Logits are the same wherever one is.
class ConstantModel : public LanguageModel {
 public:
  explicit ConstantModel(std::vector<float> logits)
      : LanguageModel(small_config(4), std::ssize(logits)), logits_(std::move(logits)) {}
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext&) override {
    return torch::tensor(logits_).expand({ids.size(0), ids.size(1), vocab_size()});
  }

 private:
  std::vector<float> logits_;
};

using Ids = std::vector<std::int64_t>;
using Texts = std::map<std::int64_t, Ids>;

Texts generated(LanguageModel& model, const Ids& prompt, const SampleConfig& sample,
                const ModuleDecodeOptions& options = {}, std::uint64_t seed = 1337) {
  Texts texts;
  generate(
      model, prompt, sample, seed,
      [&](std::int64_t index, std::int64_t id) { return texts[index].push_back(id), true; }, options);
  return texts;
}

constexpr ModuleDecodeOptions cached{.decoding = Decoding::cached}, uncached{.decoding = Decoding::uncached};

/// Greedy decoding written out: the whole window through the model for each token. A window of block_size tokens keeps
/// its last `kept` when one more comes.
Ids greedy_by_hand(LanguageModel& model, const Ids& prompt, std::int64_t tokens, std::int64_t kept) {
  Ids window(prompt.end() - std::min(std::ssize(prompt), model.block_size()), prompt.end()), written;
  for (std::int64_t i = 0; i < tokens; ++i) {
    written.push_back(model.forward(torch::tensor(window).unsqueeze(0))[0][-1].argmax().item<std::int64_t>());
    if (std::ssize(window) == model.block_size()) window.erase(window.begin(), window.end() - kept);
    window.push_back(written.back());
  }
  return written;
}
/// As the model decodes unless asked otherwise: by a sliding window where it can, all tokens through the model again.
Ids greedy_by_hand(LanguageModel& model, const Ids& prompt, std::int64_t tokens) {
  if (!model.can_slide()) return greedy_by_hand(model, prompt, tokens, model.block_size() - 1);
  Ids all = prompt;
  for (std::int64_t i = 0; i < tokens; ++i) {
    const torch::Tensor logits = model.forward(torch::tensor(all).unsqueeze(0), {.window = model.block_size()});
    all.push_back(logits[0][-1].argmax().item<std::int64_t>());
  }
  return {all.end() - tokens, all.end()};
}

}  // namespace

TEST_CASE("greedy decoding with and without cache gives the same text, also past block_size") {
  for (const std::int64_t prompt_length : {1, 3, 8, 11}) {
    HashModel with_cache(8, 13, true), without(8, 13, false);
    const SampleConfig sample{.tokens = 30, .temperature = 0};
    Ids prompt;
    for (std::int64_t i = 0; i < prompt_length; ++i) prompt.push_back((5 * i + 2) % 13);
    const Ids by_hand = greedy_by_hand(without, prompt, 30);
    CHECK(generated(with_cache, prompt, sample)[0] == by_hand);
    CHECK(generated(with_cache, prompt, sample, uncached)[0] == by_hand);
    CHECK(generated(without, prompt, sample)[0] == by_hand);
    const Ids half = greedy_by_hand(without, prompt, 30, 4);
    CHECK(generated(with_cache, prompt, sample, {.context = Context::half})[0] == half);
    CHECK(generated(without, prompt, sample, {.context = Context::half})[0] == half);
    CHECK(half != by_hand);
  }
}

TEST_CASE("every model type and every kind of position decodes the same text in every way") {
  const auto agree = [](const ModelConfig& config) {
    const auto model = make_model(config, 11, 3);
    for (auto& parameter : model->named_parameters())  // zero at first, which would hide a wrong row
      if (parameter.key().find(".ngram.") != std::string::npos)
        parameter->set_data(torch::sin(torch::arange(parameter->numel())).view(parameter->sizes()));
    const SampleConfig greedy{.tokens = 25, .temperature = 0}, drawn{.tokens = 25, .num_samples = 3, .temperature = 1};
    INFO(config.type << ", position " << enum_name(config.position));
    CHECK(generated(*model, {1, 2, 3}, greedy)[0] == greedy_by_hand(*model, {1, 2, 3}, 25));
    CHECK(generated(*model, {1, 2, 3}, greedy, cached)[0] == greedy_by_hand(*model, {1, 2, 3}, 25));
    CHECK(generated(*model, {1, 2, 3}, greedy, uncached)[0] == greedy_by_hand(*model, {1, 2, 3}, 25));
    CHECK(generated(*model, {1, 2, 3}, greedy, {.context = Context::half})[0] ==
          greedy_by_hand(*model, {1, 2, 3}, 25, 5));
    CHECK(generated(*model, {1, 2, 3}, greedy, {.context = Context::full})[0] ==
          greedy_by_hand(*model, {1, 2, 3}, 25, 9));
    const Texts three = generated(*model, {1, 2, 3}, drawn);
    CHECK(three == generated(*model, {1, 2, 3}, drawn, cached));
    CHECK(three == generated(*model, {1, 2, 3}, drawn, uncached));
    CHECK(three.at(0) == generated(*model, {1, 2, 3}, {.tokens = 25, .temperature = 1}).at(0));
  };
  ModelConfig config = small_config(10);
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = 16;
  config.init_std = 0.3;
  for (const ModelType& type : model_types()) {
    config.type = type.name;
    agree(config);
  }
  config.type = "gpt";
  config.ngram_orders = {2, 4};
  config.ngram_rows = {132, 500};
  agree(config);
  config.ngram_orders = config.ngram_rows = {};
  for (const Position position : {Position::learned, Position::sinusoidal, Position::rope, Position::none}) {
    config.position = position;
    agree(config);
  }
}

TEST_CASE("a context slides where positions are told apart by distance, and that is said where they are not") {
  ModelConfig config = small_config(8);
  config.type = "gpt";
  for (const Position position : {Position::learned, Position::sinusoidal, Position::rope, Position::none}) {
    config.position = position;
    const auto model = make_model(config, 11, 3);
    const bool slides = position == Position::rope || position == Position::none;
    CHECK(context_of(model->config(), Context::automatic) == (slides ? Context::slide : Context::full));
    ModelConfig longer = model->config();
    longer.block_size = 32;
    CHECK(context_of(longer, Context::automatic) == (slides ? Context::slide : Context::half));
    CHECK(context_of(model->config(), Context::half) == Context::half);
    if (slides)
      CHECK(context_of(model->config(), Context::slide) == Context::slide);
    else
      CHECK_THROWS_AS(context_of(model->config(), Context::slide), Error);
  }
}

TEST_CASE("the cache feeds one token at a time until the window is full, then whole windows") {
  HashModel model(4, 5, true);
  generated(model, {1, 2}, {.tokens = 5});
  CHECK(model.fed == Ids{2, 1, 1, 4, 4});
}

TEST_CASE("of a prompt longer than block_size only the last block_size tokens count") {
  HashModel model(4, 5, true);
  const SampleConfig sample{.tokens = 6, .temperature = 1};
  CHECK(generated(model, {3, 3, 3, 1, 2, 0, 4}, sample) == generated(model, {1, 2, 0, 4}, sample));
}

TEST_CASE("sample i is the same however many samples are drawn") {
  HashModel model(6, 7, true);
  SampleConfig sample{.tokens = 20, .num_samples = 4, .temperature = 1};
  const Texts four = generated(model, {2}, sample);
  sample.num_samples = 2;
  const Texts two = generated(model, {2}, sample);
  sample.num_samples = 1;
  CHECK(generated(model, {2}, sample).at(0) == four.at(0));
  CHECK(two.at(0) == four.at(0));
  CHECK(two.at(1) == four.at(1));
  CHECK(four.at(0) != four.at(1));
  CHECK(generated(model, {2}, sample, {}, 1338).at(0) != four.at(0));
}

TEST_CASE("a sample that ends leaves the batch and the others go on unchanged") {
  for (const ModuleDecodeOptions& options : {cached, uncached}) {
    HashModel model(6, 7, true);
    const SampleConfig sample{.tokens = 12, .num_samples = 3, .temperature = 1};
    const Texts whole = generated(model, {1, 4}, sample, options);
    model.batch_sizes.clear();
    Texts texts;
    generate(
        model, {1, 4}, sample, 1337,
        [&](std::int64_t index, std::int64_t id) {
          texts[index].push_back(id);
          return index != 1 || texts[index].size() < 3;
        },
        options);
    CHECK(texts.at(0) == whole.at(0));
    CHECK(texts.at(1) == Ids(whole.at(1).begin(), whole.at(1).begin() + 3));
    CHECK(texts.at(2) == whole.at(2));
    CHECK(model.batch_sizes == Ids{3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2});
  }
}

TEST_CASE("a sample that ends takes its n-grams with it") {
  ModelConfig config = small_config(10);
  config.type = "gpt";
  config.ngram_orders = {4};
  config.ngram_rows = {500};
  const auto model = make_model(config, 11, 3);
  torch::Tensor table = model->named_parameters()["transformer.ngram.4.weight"];
  table.set_data(torch::sin(torch::arange(table.numel())).view(table.sizes()));
  const SampleConfig sample{.tokens = 9, .num_samples = 3, .temperature = 1};
  const Texts whole = generated(*model, {1, 4}, sample, uncached);
  for (const ModuleDecodeOptions& options : {ModuleDecodeOptions(), cached}) {
    Texts texts;
    generate(
        *model, {1, 4}, sample, 1337,
        [&](std::int64_t index, std::int64_t id) {
          texts[index].push_back(id);
          return index != 0 || texts[index].size() < 3;
        },
        options);
    CHECK(texts.at(1) == whole.at(1));
    CHECK(texts.at(2) == whole.at(2));
  }
}

TEST_CASE("every position again for each token gives the same text") {
  ModelConfig config = small_config(10);
  config.type = "gpt";
  const auto model = make_model(config, 11, 3);
  const InferenceModel inference = inference_of(*model);
  const SampleConfig greedy{.tokens = 25, .temperature = 0};
  for (const Context context : {Context::full, Context::half}) {
    std::vector<Ids> texts;
    for (const bool rerun : {false, true}) {
      texts.emplace_back();
      generate(*next_logits(inference, {.context = context, .rerun = rerun}), 11, 10, {1, 2, 3}, greedy, 1337,
               [&](std::int64_t, std::int64_t id) { return texts.back().push_back(id), true; });
    }
    CHECK(texts[0] == texts[1]);
    CHECK(texts[0].size() == 25);
  }
}

TEST_CASE("a model with its norms behind the layers decodes as by hand") {
  ModelConfig config = small_config(10);
  config.type = "gpt";
  config.norm_place = NormPlace::post;
  const auto model = make_model(config, 11, 3);
  const SampleConfig greedy{.tokens = 25, .temperature = 0};
  CHECK(generated(*model, {1, 2, 3}, greedy)[0] == greedy_by_hand(*model, {1, 2, 3}, 25));
}

TEST_CASE("decoding ends when every sample has ended") {
  HashModel model(6, 7, true);
  int calls = 0;
  generate(model, {1}, {.tokens = 1'000'000'000'000, .num_samples = 2, .temperature = 1}, 1,
           [&](std::int64_t, std::int64_t) { return ++calls < 9; });
  CHECK(calls == 10);
}

TEST_CASE("no tokens and no memory for all samples at once are no trouble") {
  HashModel model(4, 5, true);
  CHECK(generated(model, {1}, {.tokens = 0}).empty());
  HashModel large(100'000, 300, true);
  const Texts texts = generated(large, {1}, {.tokens = 2, .num_samples = 3, .temperature = 1});
  CHECK(texts.size() == 3);
  CHECK(large.batch_sizes == Ids{1, 1, 1, 1, 1, 1});
  HashModel same_text(200, 300, true);
  CHECK(generated(same_text, {1}, {.tokens = 2, .num_samples = 3, .temperature = 1}) == texts);
}

TEST_CASE("samples of a constant model follow its probabilities") {
  ConstantModel model({0, std::log(3.f)});
  const Texts texts = generated(model, {0}, {.tokens = 20000, .temperature = 1});
  const auto ones = std::count(texts.at(0).begin(), texts.at(0).end(), 1);
  CHECK(std::abs(static_cast<double>(ones) - 15000) < 3.3 * std::sqrt(20000 * 0.75 * 0.25));
}

TEST_CASE("the model's own tensors are left as they are") {
  ConstantModel model({1, 2, 3});
  generated(model, {0}, {.tokens = 2, .temperature = 0.5, .top_k = 1});
  CHECK(model.forward(torch::zeros({1, 1}, torch::kInt64), {}).equal(torch::tensor({1.f, 2.f, 3.f}).view({1, 1, 3})));
}

TEST_CASE("a model that has diverged is named as such") {
  ConstantModel model({1, std::numeric_limits<float>::quiet_NaN(), 3});
  for (const double temperature : {0.0, 1.0}) try {
      generated(model, {0}, {.tokens = 1, .temperature = temperature});
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::diverged);
    }
}

TEST_CASE("an empty prompt and an unknown id are bugs of the caller") {
  HashModel model(4, 5, true);
  CHECK_THROWS_WITH(generated(model, {}, {.tokens = 1}), "a prompt needs at least one id");
  CHECK_THROWS_WITH(generated(model, {4, 5}, {.tokens = 1}), "the prompt has id 5; the model has ids 0 to 4");
  CHECK_THROWS_WITH(generated(model, {-1}, {.tokens = 1}), "the prompt has id -1; the model has ids 0 to 4");
}

}  // namespace chargpt
