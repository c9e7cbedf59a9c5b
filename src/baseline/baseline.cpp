#include "baseline/baseline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "baseline/compression.h"
#include "baseline/shared_text.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_tokens = 10'000'000;
constexpr int longest_order = 8;
constexpr double most_left_out = 0.9;  ///< of the train split: counts of what remains would be no rival

/// Of the texts one after the other.
std::vector<TokenView> beginning(const std::vector<TokenView>& texts) {
  std::vector<TokenView> first;
  std::int64_t left = most_tokens;
  for (const TokenView text : texts) {
    if (left > 0) first.push_back(text.slice(0, std::min(text.size(), left)));
    left -= text.size();
  }
  return first;
}

double nats_per_token(std::int64_t bytes, std::int64_t tokens) {
  return static_cast<double>(bytes) * 8 * std::numbers::ln2 / static_cast<double>(tokens);
}

/// What `split` adds to the compressed size of `train`, in nats per token. Two compressions, side by side.
double added_by(CompressedBytes& compressed, const Vocabulary& vocabulary, std::vector<TokenView> train,
                TokenView split, const Heartbeat& heartbeat) {
  const TokenView last = train.back();
  const std::int64_t document = split.document();  // one that ends the train split begins the other: written once
  if (document != TokenView::no_document && split.size() > 1 && split[0] == document &&
      last[last.size() - 1] == document)
    split = split.slice(1, split.size() - 1);
  std::atomic<bool> called_off = false;
  auto alone = std::async(std::launch::async, [&called_off, &compressed, &vocabulary, train] {
    return compressed(vocabulary, train, [&called_off](double) {
      if (called_off) throw Interrupted{};
    });
  });
  train.push_back(split);
  try {
    const std::int64_t both = compressed(vocabulary, train, heartbeat);
    while (alone.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready)
      if (heartbeat) heartbeat(1);
    return nats_per_token(both - alone.get(), split.size());
  } catch (...) {
    called_off = true;
    throw;
  }
}

}  // namespace

Baselines compute_baselines(const Corpus& corpus, TokenView split, ScoredWindows windows, bool held_out,
                            const Heartbeat& heartbeat) {
  // Of a megabyte counting takes a third of the time and xz nearly all the rest.
  const Heartbeat gzip = part_heartbeat(heartbeat, 0, 0.05), counting = part_heartbeat(heartbeat, 0.05, 0.3),
                  ppmd = part_heartbeat(heartbeat, 0.3, 0.4), xz = part_heartbeat(heartbeat, 0.4, 1);
  const Vocabulary& vocabulary = corpus.vocabulary();
  const TokenView train = corpus.train(), measured = beginning({split}).front();
  const SharedText shared = shared_text(measured, train);
  Baselines baselines{.uniform = std::log(static_cast<double>(vocabulary.size())),
                      .gzip = nats_per_token(gzip_bytes(vocabulary, {measured}, gzip), measured.size()),
                      .measured = measured.size(),
                      .shared = shared.tokens};
  if (!held_out) baselines.left_out = shared.left_out;
  if (baselines.left_out > most_left_out * static_cast<double>(train.size())) return baselines;
  const std::vector<TokenView> counted = beginning(held_out ? std::vector{train} : shared.rest);
  baselines.counted = total_tokens(counted);
  std::vector<ScoredWindows> cuts{{.length = measured.size()}};  // none
  if (windows.length < measured.size()) cuts.push_back(windows);
  const auto of_cuts = ngram_losses(counted, measured, vocabulary.size(), cuts, longest_order, counting);
  const std::vector<double>& losses = of_cuts.front();
  const auto best = std::ranges::min_element(losses);
  const std::size_t order = static_cast<std::size_t>(best - losses.begin()) + 1;
  baselines.unigram = losses[0];
  baselines.bigram = losses[1];
  baselines.trigram = losses[2];
  baselines.ngram_order = static_cast<std::int64_t>(order);
  baselines.ngram = *best;
  baselines.ngram_in_windows = of_cuts.back()[order - 1];
  try {
    baselines.ppmd = added_by(ppmd_bytes, vocabulary, counted, measured, ppmd);
  } catch (const Error& error) {  // the other figures are worth having
    baselines.ppmd_missing = error.what();
  }
  baselines.xz = added_by(xz_bytes, vocabulary, counted, measured, xz);
  return baselines;
}

Rival strongest_adaptive(const Baselines& baselines) {
  std::vector<Rival> rivals{{"xz", baselines.xz}, {"gzip", baselines.gzip}};
  if (baselines.ppmd) rivals.push_back({"PPMd", *baselines.ppmd});
  return *std::ranges::min_element(rivals, {}, &Rival::loss);
}

nlohmann::ordered_json to_json(const Baselines& baselines) {
  nlohmann::ordered_json json, frozen = {"uniform"}, adaptive = {"gzip"};
  json["uniform"] = baselines.uniform;
  if (baselines.counted > 0) {
    json["unigram"] = baselines.unigram;
    json["bigram"] = baselines.bigram;
    json["trigram"] = baselines.trigram;
    json["ngram"]["order"] = baselines.ngram_order;
    json["ngram"]["loss"] = baselines.ngram;
    json["ngram"]["loss_in_windows"] = baselines.ngram_in_windows;
    json["ngram"]["class"] = "frozen";
    for (const char* const name : {"unigram", "bigram", "trigram", "ngram"}) frozen.push_back(name);
  }
  json["gzip"] = baselines.gzip;
  if (baselines.counted > 0) {
    json["xz"] = baselines.xz;
    adaptive.push_back("xz");
  }
  if (baselines.ppmd) {
    json["ppmd"] = {{"loss", *baselines.ppmd},
                    {"class", "adaptive"},
                    {"variant", "H"},
                    {"order", ppmd_order},
                    {"memory_bytes", ppmd_memory_bytes}};
    adaptive.push_back("ppmd");
  }
  if (!baselines.ppmd_missing.empty()) json["ppmd_missing"] = baselines.ppmd_missing;
  json["classes"] = {{"frozen", frozen}, {"adaptive", adaptive}};
  json["counted_tokens"] = baselines.counted;
  json["left_out_tokens"] = baselines.left_out;
  json["measured_tokens"] = baselines.measured;
  return json;
}

}  // namespace chargpt
