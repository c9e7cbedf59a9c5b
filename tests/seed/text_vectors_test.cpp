// The worked examples of text: vocabulary, split, windows, prompts.
#include "vectors.h"

#include "evaluate/split_loss.h"
#include "generate/generate.h"
#include "inference_of.h"
#include "model/registry.h"
#include "predict/network.h"
#include "tinyshakespeare.h"
#include "windows_of.h"

namespace chargpt::seed {
namespace {

Ids ids_of(const nlohmann::json& value) {
  return value.get<Ids>();
}

Ids ids_of(const torch::Tensor& ids) {
  const auto flat = ids.contiguous();
  return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

/// Keeps the batches it is asked for; every loss is 0.
class RecordingScorer : public WindowScorer {
 public:
  void score(const WindowBatch& windows, std::span<float> losses) override {
    inputs.push_back(ids_of(inputs_of(windows)));
    targets.push_back(ids_of(targets_of(windows)));
    std::ranges::fill(losses, 0.0F);
  }
  std::vector<Ids> inputs, targets;
};

}  // namespace

VECTOR_CASE(B01_char_vocabulary, "65 sorted characters, ids there and back, nine tenths of the text to train on") {
  NEEDS_TINYSHAKESPEARE();
  const auto& text = tinyshakespeare();
  const auto& vocabulary = text.vocabulary();
  CHECK(text.all().size() == v.value("text_length").get<std::int64_t>());
  CHECK(vocabulary.size() == v.expected("vocab_size").get<std::int64_t>());
  std::string symbols;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) symbols += vocabulary.symbol(id);
  CHECK(symbols == v.expected("chars").get<std::string>());
  const auto ids = vocabulary.encode(v.value("text").get<std::string>(), "text");
  CHECK(ids == ids_of(v.expected("ids")));
  CHECK(vocabulary.decode(ids) == v.expected("decoded").get<std::string>());
  CHECK(text.train().size() == v.expected("train_length").get<std::int64_t>());
  CHECK(text.val().size() == v.expected("val_length").get<std::int64_t>());
}

VECTOR_CASE(B02_context_target_expansion, "a window of nine ids is eight contexts, each with the id that follows") {
  NEEDS_TINYSHAKESPEARE();
  const auto window = ids_of(v.value("window"));
  const std::vector<std::uint8_t> stored(window.begin(), window.end());
  RecordingScorer scorer;
  const auto loss = split_loss(scorer, TokenView(stored.data(), 1, 9), v.value("block_size").get<std::int64_t>());
  CHECK(loss.tokens == 8);
  REQUIRE(scorer.inputs.size() == 1);
  const Ids &x = scorer.inputs[0], &y = scorer.targets[0];
  for (std::size_t t = 0; t < 8; ++t) CHECK(Ids(x.begin(), x.begin() + t + 1) == ids_of(v.expected("contexts")[t]));
  CHECK(y == ids_of(v.expected("targets")));
  CHECK(tinyshakespeare().vocabulary().decode(window) == v.expected("window_text").get<std::string>());
  CHECK(tinyshakespeare().vocabulary().encode(v.expected("window_text").get<std::string>(), "window") == window);
}

VECTOR_CASE(B17_prompt_encoding, "of a long prompt the model sees the last block_size ids") {
  NEEDS_TINYSHAKESPEARE();
  const auto& vocabulary = tinyshakespeare().vocabulary();
  const auto ids = vocabulary.encode(v.value("text").get<std::string>(), "prompt");
  CHECK(ids == ids_of(v.expected("ids")));
  const ModelConfig config{
      .n_layer = 1, .n_head = 1, .n_embd = 8, .block_size = v.value("block_size").get<std::int64_t>(), .init_std = 0.5};
  const auto model = make_model(config, vocabulary.size(), 3);
  const InferenceModel inference = inference_of(*model);
  Ids drawn;
  std::vector<torch::Tensor> logits;
  NetworkPredictor network(inference, /*threads=*/1, Context::full);
  generate(
      network, ids, {.tokens = 2}, /*seed=*/1337,
      [&](std::int64_t, std::int64_t id) { return drawn.push_back(id), true; },
      [&](std::int64_t, std::span<const float> row) {
        logits.push_back(torch::tensor(std::vector<float>(row.begin(), row.end())));
      });
  const auto first = ids_of(v.expected("first_model_input"));
  CHECK(vocabulary.decode(first) == v.expected("first_model_input_text").get<std::string>());
  Ids second(first.begin() + 1, first.end());
  second.push_back(drawn.at(0));
  const torch::NoGradGuard no_grad;
  const auto is_of = [&](const torch::Tensor& row, const Ids& window) {
    return at::allclose(row, model->forward(torch::tensor(window).unsqueeze(0))[0][-1], 1e-4, 1e-4);
  };
  REQUIRE(logits.size() == 2);
  CHECK(is_of(logits[0], first));
  CHECK(is_of(logits[1], second));
  CHECK_FALSE(is_of(logits[1], first));
}

}  // namespace chargpt::seed
