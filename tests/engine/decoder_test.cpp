// Decoding on the raw weights against the model's own forward over the whole window: logits, over all options and model
// types.
#include "network/decoder.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <new>

#include "inference_of.h"
#include "model/variants.h"
#include "network/model_types.h"

#include "test.h"

using namespace chargpt;
using cpu::Decoder;
using cpu::Kernels;

namespace {

/// A decoder of the model's weights, and what it computes with.
struct Decoding {
  Decoding(const LanguageModel& model, int threads, const Kernels& kernels = cpu::kernels())
      : weights(inference_of(model)),
        plan(weights.plan()),
        team((use_kernels(plan, kernels), plan), weights.values(), threads),
        decoder(team) {}

  TestModel weights;
  cpu::Plan plan;
  cpu::ForwardTeam team;
  Decoder decoder;
};

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

struct Sequences {
  Decoder& decoder;
  std::int64_t block_size, kept;
  std::vector<Ids> windows;  ///< what each sequence's next logits are a function of
  float* logits = nullptr;

  void start(const Ids& ids, std::size_t count) {
    windows.assign(count, ids);
    logits = decoder.start(ids, static_cast<std::int64_t>(count));
  }
  /// A different id for each.
  void append(std::int64_t round) {
    Ids ids;
    for (Ids& window : windows) {
      ids.push_back((round * round * 7 + round * 3 + 5 * std::ssize(ids)) % test_vocab);
      if (std::ssize(window) == block_size && kept < block_size) window.erase(window.begin(), window.end() - kept);
      window.push_back(ids.back());
    }
    logits = decoder.append(ids, kept);
  }
  std::vector<float> row(std::size_t sequence) const {
    const float* const first = logits + static_cast<std::int64_t>(sequence) * decoder.stride();
    return {first, first + test_vocab};
  }
  double worst_error(LanguageModel& model) const {
    double worst = 0;
    for (std::size_t i = 0; i < windows.size(); ++i)
      worst = std::max(worst, largest_difference(torch::tensor(row(i)), expected_logits(model, windows[i])));
    return worst;
  }
};

/// Largest error of any logit while `count` sequences grow from `prompt` ids by `tokens`.
double worst_error(LanguageModel& model, Decoder& decoder, std::int64_t prompt, std::size_t count, std::int64_t kept,
                   std::int64_t tokens) {
  Sequences sequences{decoder, model.block_size(), kept, {}};
  Ids ids;
  for (std::int64_t i = 0; i < prompt; ++i) ids.push_back((5 * i + 2) % test_vocab);
  sequences.start(ids, count);
  double worst = sequences.worst_error(model);
  for (std::int64_t round = 0; round < tokens; ++round) {
    sequences.append(round);
    worst = std::max(worst, sequences.worst_error(model));
  }
  return worst;
}

}  // namespace

TEST_CASE_METHOD(OneThread, "logits are the model's within 1e-4, over all options and types, also past block_size") {
  REQUIRE(all_variants().size() > 40);
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    const auto model = disturbed_model(variant.config);
    Decoding decoding(*model, 2);
    CHECK(worst_error(*model, decoding.decoder, 3, 3, model->block_size() - 1, 12) < 1e-4);
  }
}

TEST_CASE_METHOD(OneThread, "logits are the model's with every instruction set, number of threads and of sequences") {
  ModelConfig config = small_config();
  config.n_head = 3;
  config.position = Position::rope;
  const auto model = disturbed_model(config);
  for (const Kernels* kernels : cpu::all_kernels())
    for (const int threads : {1, 2, 3}) {
      Decoding decoding(*model, threads, *kernels);
      for (const std::size_t sequences : {1, 2, 5, 17})
        for (const std::int64_t kept : {7, 4, 0}) {
          INFO(kernels->name << ", " << threads << " threads, " << sequences << " sequences, " << kept << " kept");
          CHECK(worst_error(*model, decoding.decoder, 8, sequences, kept, 6) < 1e-4);
        }
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
      const auto model = disturbed_model(config);
      Decoding decoding(*model, 2);
      CHECK(worst_error(*model, decoding.decoder, 3, 3, model->block_size(), 30) < 1e-4);
      ++compared;
    }
  }
  CHECK(compared > 80);
}

TEST_CASE_METHOD(OneThread, "a window that has slid can be run again, and slides again") {
  ModelConfig config = small_config();
  config.position = Position::rope;
  const auto model = disturbed_model(config);
  Decoding decoding(*model, 2);
  Sequences sequences{decoding.decoder, 8, 8, {}};
  sequences.start({1, 2, 3}, 2);
  for (std::int64_t round = 0; round < 40; ++round) {
    sequences.kept = round % 10 == 9 ? 4 : 8;
    if (sequences.kept == 4)  // what was seen before the window is gone
      for (Ids& window : sequences.windows) window.erase(window.begin(), window.end() - 8);
    sequences.append(round);
    CHECK(sequences.worst_error(*model) < 1e-4);
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
    for (const int threads : {1, 2, 3}) {
      Decoding decoding(*model, threads);
      for (const std::size_t sequences : {1, 2, 3}) {
        INFO(enum_name(model->config().position) << ", " << threads << " threads, " << sequences << " sequences");
        CHECK(worst_error(*model, decoding.decoder, 299, sequences, 299, 3) < 1e-4);
        CHECK(worst_error(*model, decoding.decoder, 300, sequences, 150, 2) < 1e-4);
      }
    }
}

TEST_CASE_METHOD(OneThread, "more sequences than a thread takes at once") {
  const auto model = disturbed_model(small_config());
  Decoding decoding(*model, 1);
  CHECK(worst_error(*model, decoding.decoder, 3, 130, 7, 1) < 1e-4);
}

TEST_CASE_METHOD(OneThread, "where memory was refused there is no room, and less is taken afterwards") {
  const auto model = disturbed_model(small_config());
  Decoding decoding(*model, 1);
  constexpr std::int64_t beyond = std::int64_t{1} << 45;  // all address space
  cpu::SequenceCache cache(decoding.plan);
  CHECK_THROWS_AS(cache.make_room(beyond), std::bad_alloc);
  CHECK(cache.slots() == 0);
  CHECK_THROWS_AS(decoding.team.pass(0).prepare(1, beyond), std::bad_alloc);
  CHECK(worst_error(*model, decoding.decoder, 3, 1, 7, 2) < 1e-4);
}

TEST_CASE_METHOD(OneThread, "a sequence has the same bits alone and among others, and after those have gone") {
  const auto model = disturbed_model(small_config());
  Decoding decoding(*model, 2);
  Decoder& decoder = decoding.decoder;
  const auto grown = [&](std::size_t count, bool leave) {
    Sequences sequences{decoder, 8, 7, {}};
    sequences.start({1, 2, 3}, count);
    std::vector<std::vector<float>> rows;
    for (std::int64_t round = 0; round < 12; ++round) {
      if (leave && round == 3) {
        decoder.keep(Ids{0, 4});
        sequences.windows = {sequences.windows[0], sequences.windows[4]};
      }
      sequences.append(round);
      rows.push_back(sequences.row(0));
    }
    if (leave) CHECK(sequences.worst_error(*model) < 1e-4);
    return rows;
  };
  const auto alone = grown(1, false);
  CHECK(alone == grown(5, false));
  CHECK(alone == grown(20, false));
  CHECK(alone == grown(20, true));
}
