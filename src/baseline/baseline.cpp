#include "baseline/baseline.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "baseline/compression.h"
#include "baseline/ngram.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_tokens = 10'000'000;
constexpr int longest_order = 8;

TokenView beginning(TokenView tokens) {
  return tokens.slice(0, std::min(tokens.size(), most_tokens));
}

double nats_per_token(std::int64_t bytes, std::int64_t tokens) {
  return static_cast<double>(bytes) * 8 * std::numbers::ln2 / static_cast<double>(tokens);
}

/// What `split` adds to the compressed size of `train`, in bytes. Two compressions of seconds each, side by side.
std::int64_t added_by(const Vocabulary& vocabulary, TokenView train, TokenView split) {
  auto alone = std::async(std::launch::async, [&] { return xz_bytes(vocabulary, {train}); });
  const std::int64_t both = xz_bytes(vocabulary, {train, split});
  return both - alone.get();
}

}  // namespace

std::vector<double> ngram_losses(TokenView train, TokenView split, std::int64_t vocab_size, std::int64_t block_size,
                                 int max_order) {
  if (split.size() < 2)
    throw Error(ExitCode::data,
                "a split of " + std::to_string(split.size()) + " tokens has nothing to predict; at least 2 are needed");
  if (std::max(train.size(), split.size()) >= std::numeric_limits<std::int32_t>::max() || vocab_size < 1 ||
      block_size < 1)
    throw Error(ExitCode::internal, "n-grams of " + std::to_string(train.size()) + " tokens, " +
                                        std::to_string(vocab_size) + " symbols and windows of " +
                                        std::to_string(block_size) + " cannot be counted");
  return witten_bell_losses(train, split, vocab_size, block_size, max_order);
}

Baselines compute_baselines(const Corpus& corpus, TokenView split, std::int64_t block_size) {
  const Vocabulary& vocabulary = corpus.vocabulary();
  const TokenView train = beginning(corpus.train()), measured = beginning(split);
  const std::vector<double> losses = ngram_losses(train, measured, vocabulary.size(), measured.size(), longest_order);
  const auto best = std::min_element(losses.begin(), losses.end());
  const auto order = static_cast<int>(best - losses.begin()) + 1;
  return {.uniform = std::log(static_cast<double>(vocabulary.size())),
          .unigram = losses[0],
          .bigram = losses[1],
          .trigram = losses[2],
          .ngram_order = order,
          .ngram = *best,
          .ngram_in_windows = ngram_losses(train, measured, vocabulary.size(), block_size, order).back(),
          .gzip = nats_per_token(gzip_bytes(vocabulary, measured), measured.size()),
          .xz = nats_per_token(added_by(vocabulary, train, measured), measured.size())};
}

nlohmann::ordered_json to_json(const Baselines& baselines) {
  nlohmann::ordered_json json;
  json["uniform"] = baselines.uniform;
  json["unigram"] = baselines.unigram;
  json["bigram"] = baselines.bigram;
  json["trigram"] = baselines.trigram;
  json["ngram"]["order"] = baselines.ngram_order;
  json["ngram"]["loss"] = baselines.ngram;
  json["ngram"]["loss_in_windows"] = baselines.ngram_in_windows;
  json["gzip"] = baselines.gzip;
  json["xz"] = baselines.xz;
  return json;
}

}  // namespace chargpt
