// Sequences that a network continues against the module's own forward over the whole window: logits, over all options
// and model types.
#include "network/decoder.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <new>
#include <numeric>

#include "inference_of.h"
#include "model/variants.h"
#include "network/model_types.h"
#include "predict/network.h"

#include "test.h"

using namespace chargpt;

namespace {

/// Logits of the position behind `ids`, all of them through the model; of more than block_size each sees the last.
torch::Tensor expected_logits(LanguageModel& model, const Ids& ids) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor batch = torch::tensor(ids).unsqueeze(0);
  if (std::ssize(ids) <= model.block_size()) return model.forward(batch).index({0, -1});
  ModelConfig config = model.config();
  config.block_size = std::ssize(ids);
  const auto longer = make_module(config, model.vocab_size());
  for (const auto& item : model.named_parameters()) longer->named_parameters()[item.key()].copy_(item.value());
  const torch::Tensor all = torch::ones({1, config.block_size, config.block_size});
  return longer->forward(batch, {.mask = (all.tril() - all.tril(-model.block_size())).log()}).index({0, -1});
}

/// Largest error of any logit while `count` sequences grow from `prompt` ids by `tokens`; the second of them ends
/// early.
double worst_error(LanguageModel& model, Predictor& network, Context context, std::int64_t prompt, std::int64_t count,
                   std::int64_t tokens) {
  const std::int64_t kept = kept_tokens(context, model.block_size());
  Ids first, rows(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < prompt; ++i) first.push_back((5 * i + 2) % test_vocab);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<Ids> windows(rows.size(), first);  // what each sequence's next logits are a function of
  Predictor::Rows logits = network.start(first, count);
  double worst = 0;
  for (std::int64_t round = 0;; ++round) {
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const float* const row = logits.first + static_cast<std::int64_t>(i) * logits.stride;
      const torch::Tensor found = torch::tensor(std::vector<float>(row, row + test_vocab));
      worst = std::max(worst, largest_difference(found, expected_logits(model, windows[i])));
    }
    if (round == tokens) return worst;
    if (round == 1 && count > 1) {
      rows.erase(rows.begin() + 1);
      windows.erase(windows.begin() + 1);
    }
    Ids ids;
    for (Ids& window : windows) {  // a different id for each
      ids.push_back((round * round * 7 + round * 3 + 5 * std::ssize(ids)) % test_vocab);
      if (std::ssize(window) == model.block_size() && context != Context::slide)
        window.erase(window.begin(), window.end() - kept);
      window.push_back(ids.back());
    }
    logits = network.advance(rows, ids);
    rows.resize(windows.size());
    std::iota(rows.begin(), rows.end(), 0);
  }
}

double worst_error(LanguageModel& model, int threads, Context context, std::int64_t prompt, std::int64_t count,
                   std::int64_t tokens) {
  const TestModel weights = inference_of(model);
  NetworkPredictor network(weights, threads, context);
  return worst_error(model, network, context, prompt, count, tokens);
}

}  // namespace

TEST_CASE_METHOD(OneThread, "logits are the model's within 1e-4, over all options and types, also past block_size") {
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    CHECK(worst_error(*disturbed_model(variant.config), 2, Context::full, 3, 3, 12) < 1e-4);
  }
}

TEST_CASE_METHOD(OneThread, "behind a sliding window logits are those of the whole text, also after many windows") {
  int compared = 0;
  for (const Variant& variant : all_variants()) {
    for (const Position position : {Position::rope, Position::none}) {
      ModelConfig config = variant.config;
      config.position = position;
      if (!can_slide(config) || (position == Position::rope && head_width(config) % 2 != 0)) continue;
      INFO(variant.name << ", position " << enum_name(position));
      CHECK(worst_error(*disturbed_model(config), 2, Context::slide, 3, 3, 30) < 1e-4);
      ++compared;
    }
  }
  CHECK(compared > 80);
}

TEST_CASE_METHOD(OneThread, "a network begins again where its windows have slid or were run again") {
  ModelConfig config = small_config();
  config.position = Position::rope;
  const auto model = disturbed_model(config);
  const TestModel weights = inference_of(*model);
  for (const Context context : {Context::slide, Context::half}) {
    NetworkPredictor network(weights, 2, context);
    for (const std::int64_t sequences : {3, 130, 1})
      CHECK(worst_error(*model, network, context, 8, sequences, 9) < 1e-4);
  }
}

TEST_CASE_METHOD(OneThread, "windows longer than a thread takes at once") {
  ModelConfig config = small_config();
  config.block_size = 300;
  config.n_head = 1;  // of 32: products of keys and values apart
  config.n_embd = 32;
  ModelConfig turned = config;
  turned.position = Position::rope;
  turned.conv_places = {Place::attention, Place::mlp};
  for (const auto& model : {disturbed_model(config), disturbed_model(turned)})
    for (const int threads : {1, 2, 3})
      for (const std::int64_t sequences : {1, 2, 3}) {
        INFO(enum_name(model->config().position) << ", " << threads << " threads, " << sequences << " sequences");
        CHECK(worst_error(*model, threads, Context::full, 299, sequences, 3) < 1e-4);
        CHECK(worst_error(*model, threads, Context::half, 300, sequences, 2) < 1e-4);
      }
}

TEST_CASE_METHOD(OneThread, "where memory was refused there is no room, and less is taken afterwards") {
  const auto model = disturbed_model(small_config());
  const TestModel weights = inference_of(*model);
  constexpr std::int64_t beyond = std::int64_t{1} << 45;  // all address space
  cpu::SequenceCache cache(weights.plan());
  CHECK_THROWS_AS(cache.make_room(beyond), std::bad_alloc);
  CHECK(cache.slots() == 0);
  NetworkPredictor network(weights, 1);
  CHECK_THROWS_AS(network.start(Ids{1, 2, 3}, beyond), std::bad_alloc);
  CHECK(worst_error(*model, network, Context::full, 3, 1, 2) < 1e-4);
}
