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

using nlohmann::json;

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

double number_at(const json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number() || !std::isfinite(found->get<double>()))
    throw Error(ExitCode::data, std::string("baselines: \"") + key + "\" is missing or not a number");
  return found->get<double>();
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
  const std::vector<double> losses = ngram_losses(train, measured, vocabulary.size(), block_size, longest_order);
  const auto best = std::min_element(losses.begin(), losses.end());
  return {.uniform = std::log(static_cast<double>(vocabulary.size())),
          .unigram = losses[0],
          .bigram = losses[1],
          .trigram = losses[2],
          .ngram_order = best - losses.begin() + 1,
          .ngram = *best,
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
  json["gzip"] = baselines.gzip;
  json["xz"] = baselines.xz;
  return json;
}

Baselines baselines_from_json(const json& json) {
  if (!json.is_object() || !json.contains("ngram") || !json["ngram"].is_object())
    throw Error(ExitCode::data,
                "baselines: expected an object with \"uniform\", \"unigram\", \"bigram\", \"trigram\", \"ngram\", "
                "\"gzip\" and \"xz\"");
  const auto order = json["ngram"].find("order");
  if (order == json["ngram"].end() || !order->is_number_integer() || *order < 1 || *order > longest_order)
    throw Error(ExitCode::data,
                "baselines: \"order\" is not a whole number from 1 to " + std::to_string(longest_order));
  return {.uniform = number_at(json, "uniform"),
          .unigram = number_at(json, "unigram"),
          .bigram = number_at(json, "bigram"),
          .trigram = number_at(json, "trigram"),
          .ngram_order = order->get<std::int64_t>(),
          .ngram = number_at(json["ngram"], "loss"),
          .gzip = number_at(json, "gzip"),
          .xz = number_at(json, "xz")};
}

}  // namespace chargpt
