#include "cli/figures.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/table.h"

namespace chargpt {

namespace {

void add_row(Table& table, const std::string& name, double loss) {
  table.add({name, format_fixed(loss, 4), format_fixed(loss / std::log(2.0), 4)});
}

void add_baselines(Table& table, const Baselines& baselines, std::int64_t block_size) {
  add_row(table, "uniform", baselines.uniform);
  add_row(table, "counted unigrams", baselines.unigram);
  add_row(table, "counted bigrams", baselines.bigram);
  add_row(table, "counted trigrams", baselines.trigram);
  add_row(table, "counted " + std::to_string(baselines.ngram_order) + "-grams (best order)", baselines.ngram);
  add_row(table, "  in windows of " + std::to_string(block_size), baselines.ngram_in_windows);
  add_row(table, "gzip", baselines.gzip);
  add_row(table, "xz, knowing the train split", baselines.xz);
}

std::string verdict(const Figures& figures) {
  if (figures.leaks)
    return "This model leaks: a position sees its own target, so its loss says nothing about prediction.\n";
  if (!figures.baselines) return "";
  const Baselines& baselines = *figures.baselines;
  const std::string ngrams = "counting " + std::to_string(baselines.ngram_order) + "-grams";
  if (figures.loss >= baselines.ngram) return "This model does not beat " + ngrams + ".\n";
  return "It beats " + ngrams + " by " + format_fixed(baselines.ngram - figures.loss, 4) + " nats per character.\n";
}

}  // namespace

Figures measure(Engine& engine, const LanguageModel& model, const Corpus* trained_on, TokenView split,
                const std::string& split_name, std::int64_t stride) {
  const std::int64_t block_size = model.block_size();
  const SplitLoss loss = split_loss(engine, split, block_size, stride);
  Figures figures;
  figures.loss = loss.mean;
  figures.ci95 = bootstrap_interval(loss.losses);
  figures.tokens = loss.tokens;
  figures.block_size = block_size;
  figures.split = split_name;
  figures.leaks = model.leaks();
  if (block_size > 64) figures.loss_windows_64 = split_loss(engine, split, 64).mean;
  if (trained_on) figures.baselines = compute_baselines(*trained_on, split, block_size);
  return figures;
}

nlohmann::ordered_json to_json(const Figures& figures) {
  nlohmann::ordered_json json = {{"loss", figures.loss},
                                 {"bits_per_char", figures.loss / std::log(2.0)},
                                 {"perplexity", std::exp(figures.loss)},
                                 {"ci95", {figures.ci95.low, figures.ci95.high}},
                                 {"tokens", figures.tokens},
                                 {"split", figures.split},
                                 {"block_size", figures.block_size}};
  if (figures.loss_windows_64) json["loss_windows_64"] = *figures.loss_windows_64;
  if (figures.leaks) json["leaks"] = true;
  if (figures.baselines) json["baselines"] = to_json(*figures.baselines);
  return json;
}

std::string to_text(const Figures& figures) {
  Table table({"", "nats/char", "bits/char"});
  add_row(table, "this model, " + figures.split, figures.loss);
  if (figures.loss_windows_64) add_row(table, "  in windows of 64", *figures.loss_windows_64);
  if (figures.baselines) add_baselines(table, *figures.baselines, figures.block_size);
  return table.text() + "95 % interval of the loss: " + format_fixed(figures.ci95.low, 4) + " to " +
         format_fixed(figures.ci95.high, 4) + " (these weights, other text); perplexity " +
         format_fixed(std::exp(figures.loss), 2) + "\n" + format_count(figures.tokens) +
         " characters, each scored once, in windows of " + std::to_string(figures.block_size) + "\n" + verdict(figures);
}

}  // namespace chargpt
