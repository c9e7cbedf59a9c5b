#include "evaluate/baseline.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "evaluate/compression.h"
#include "evaluate/ngram.h"
#include "evaluate/shared_text.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_tokens = 10'000'000;
constexpr int longest_order = 8;

TokenView beginning(TokenView text) {
  return text.slice(0, std::min(text.size(), most_tokens));
}

/// The text of `ids`. A document boundary is a byte that UTF-8 does not use: one symbol, as for a model.
std::string text_of(const Vocabulary& vocabulary, TokenView ids) {
  std::vector<std::string> symbols = vocabulary.symbols();
  if (vocabulary.document() >= 0) symbols.back() = "\xFF";  // the last id
  std::string text;
  ids.each_run([&](std::span<const std::int64_t> run) {
    for (const std::int64_t id : run) text += symbols[static_cast<std::size_t>(id)];
  });
  return text;
}

/// The bytes that `split` adds to the compressed size of `train`, in nats per token. Both sizes are computed at once.
double ppmd_loss(const Vocabulary& vocabulary, TokenView train, TokenView split, const Heartbeat& heartbeat) {
  const std::int64_t document = split.document();  // if `train` ends with the id that starts `split`, omit one of them
  if (document != TokenView::no_document && split.size() > 1 && split[0] == document &&
      train[train.size() - 1] == document)
    split = split.slice(1, split.size() - 1);
  const std::string counted = text_of(vocabulary, train), whole = counted + text_of(vocabulary, split);
  std::future<std::int64_t> alone = std::async(std::launch::async, [&] { return ppmd_bytes(counted); });
  const std::int64_t both = ppmd_bytes(whole, heartbeat);
  return static_cast<double>(both - alone.get()) * 8 * std::numbers::ln2 / static_cast<double>(split.size());
}

}  // namespace

Baselines compute_baselines(const Corpus& corpus, TokenView split, std::int64_t block_size, std::int64_t stride,
                            const Heartbeat& heartbeat, bool with_ppmd) {
  const Vocabulary& vocabulary = corpus.vocabulary();
  const TokenView train = beginning(corpus.train()), measured = beginning(split);
  std::vector<WindowCut> cuts{{measured, measured.size()}};  // one window
  if (block_size < measured.size()) cuts.emplace_back(measured, block_size, stride == 0 ? block_size : stride);
  const auto of_cuts = ngram_losses(train, vocabulary.size(), cuts, longest_order, part_heartbeat(heartbeat, 0, 0.6));
  const std::vector<double>& losses = of_cuts.front();
  const auto best = std::ranges::min_element(losses);
  const std::size_t order = static_cast<std::size_t>(best - losses.begin()) + 1;
  std::optional<double> ppmd;
  if (with_ppmd) ppmd = ppmd_loss(vocabulary, train, measured, part_heartbeat(heartbeat, 0.6, 1));
  return {.uniform = std::log(static_cast<double>(vocabulary.size())),
          .measured = measured.size(),
          .shared = shared_tokens(measured, corpus.train()),
          .counted = train.size(),
          .unigram = losses[0],
          .bigram = losses[1],
          .trigram = losses[2],
          .ngram_order = static_cast<std::int64_t>(order),
          .ngram = *best,
          .ngram_in_windows = of_cuts.back()[order - 1],
          .ppmd = ppmd};
}

nlohmann::ordered_json to_json(const Baselines& baselines) {
  return {
      {"uniform", baselines.uniform},
      {"unigram", baselines.unigram},
      {"bigram", baselines.bigram},
      {"trigram", baselines.trigram},
      {"ngram",
       {{"order", baselines.ngram_order}, {"loss", baselines.ngram}, {"loss_in_windows", baselines.ngram_in_windows}}},
      {"ppmd", {{"loss", baselines.ppmd ? nlohmann::ordered_json(*baselines.ppmd) : nullptr}, {"class", "adaptive"}}},
      {"counted_tokens", baselines.counted},
      {"measured_tokens", baselines.measured}};
}

}  // namespace chargpt
