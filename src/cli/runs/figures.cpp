#include "cli/runs/figures.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/quote.h"
#include "evaluate/shared_text.h"
#include "network/model_types.h"
#include "predict/counts.h"
#include "report/charts/heat_map.h"
#include "report/format.h"

namespace chargpt {

namespace {

/// The part of the scored text that also appears in the train split.
double shared_part(const Figures& figures) {
  if (!figures.baselines) return 0;
  return static_cast<double>(figures.baselines->shared) / static_cast<double>(figures.baselines->measured);
}

bool knows_the_text(const Figures& figures) {
  return !figures.scored.held_out && shared_part(figures) >= least_shared_part;
}

std::string windows_of(const Figures& figures) {
  return windows_text(figures.block_size, figures.scored.stride);
}

std::string model_row(const Figures& figures) {
  const std::size_t members = figures.members.size();
  const std::string& weights = figures.scored.weights;
  return fmt::format("{}, {}{}", members > 0 ? fmt::format("{} models as one", members) : "this model",
                     figures.scored.split, weights.empty() ? "" : ", " + weights + " weights");
}

/// Bits per byte of UTF-8; the id between documents counts as one byte.
double bits_per_byte(const Figures& figures) {
  const Vocabulary& vocabulary = *figures.scored.vocabulary;
  const TokenView scored = figures.scored.tokens.slice(1, figures.scored.tokens.size() - 1);
  const std::vector<std::int64_t> counts = frequencies_of(scored, vocabulary.size());
  std::int64_t bytes = 0;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    bytes += counts[static_cast<std::size_t>(id)] * std::max<std::int64_t>(1, std::ssize(vocabulary.symbol(id)));
  return figures.loss * static_cast<double>(figures.tokens) / std::log(2.0) / static_cast<double>(bytes);
}

/// A note if the baselines cover only a part of the text.
std::string baseline_line(const Figures& figures) {
  if (!figures.baselines || figures.baselines->measured >= figures.tokens) return "";
  return "The baselines cover only the first " + tokens_text(figures.baselines->measured, figures.scored.units) + ".\n";
}

std::string shared_line(const Figures& figures) {
  const Scored& scored = figures.scored;
  const bool held_out = scored.held_out;
  const std::string text = !held_out                ? "this text"
                           : scored.split == "test" ? "the test split"
                                                    : "the validation split",
                    line = shared_text_line(shared_part(figures), scored.units, text,
                                            held_out ? "train split" : "training text");
  return line.empty() ? "" : line + (held_out ? ".\n" : "; do not compare it with the baselines.\n");
}

/// "by tenths of the split: ▂▁▃…, 1.41 to 1.78 nats per character": how much the loss varies along the text.
std::string tenths_line(const Figures& figures) {
  const std::vector<double>& tenths = figures.tenths;
  if (tenths.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(tenths);
  return fmt::format("by tenths of the text: {} from {:.4f} to {:.4f} nats per {}\n", sparkline(tenths, most), least,
                     most, unit_word(figures.scored.units));
}

/// The text that the networks learned from.
std::string adapted_line(const Figures& figures) {
  if (!figures.adapted) return "";
  return fmt::format("Adapting: after each window {} network learned from the {}s just scored, {}.\n",
                     figures.members.empty() ? "the" : "each", unit_word(figures.scored.units),
                     to_text(*figures.adapted, figures.scored.units));
}

/// "It beats PPMd (1.4062) by 0.0200.", "… is behind …", or "… is level with …" if the difference is shown as 0.
std::string beside(const std::string& it, double loss, const std::string& baseline, double its_loss,
                   const std::string& clause = "") {
  const std::string by = format_fixed(std::abs(its_loss - loss), 4);
  const std::string against = fmt::format("{} ({:.4f}){}", baseline, its_loss, clause);
  if (by == "0.0000") return fmt::format("{} is level with {}.", it, against);
  return fmt::format("{} {} {}{} by {}.", it, loss < its_loss ? "beats" : "is behind", against,
                     clause.empty() ? "" : ",", by);
}

/// Compares with counted n-grams in the network's windows; with full context if the network is mixed with counts.
std::string frozen_line(const Figures& figures) {
  const Baselines& baselines = *figures.baselines;
  const std::string name = fmt::format("counted {}-grams", baselines.ngram_order);
  if (figures.mixture != nullptr && !figures.adapted) return beside("It", figures.loss, name, baselines.ngram);
  const double loss = figures.adapted ? *figures.network_loss : figures.loss;
  const bool only_in_windows = loss < baselines.ngram_in_windows && loss >= baselines.ngram;
  return beside(figures.adapted ? "As trained, it" : "It", loss, name + " " + windows_of(figures),
                baselines.ngram_in_windows) +
         (only_in_windows ? fmt::format(" With any context these reach {:.4f}.", baselines.ngram) : "");
}

std::string adaptive_line(const Figures& figures) {
  const double ppmd = *figures.baselines->ppmd;
  if (figures.adapted) return beside("Adapting to the text, it", figures.loss, "PPMd", ppmd);
  return beside("It", figures.loss, "PPMd", ppmd, ", a compressor that learns as it reads");
}

/// Whether it beats the strongest baseline of each class. With --adapt, the network as trained is compared with the
/// frozen one.
std::vector<std::string> verdict(const Figures& figures) {
  if (figures.scored.leaks)
    return {
        "This model leaks: a position sees its own target, so its loss does not measure prediction, and its samples "
        "are meaningless."};
  if (!figures.baselines || knows_the_text(figures)) return {};
  if (figures.tokens < 500) return {"So few characters do not tell a model from its baselines."};
  if (!figures.baselines->ppmd) return {frozen_line(figures)};
  return {frozen_line(figures), adaptive_line(figures)};
}

}  // namespace

std::string windows_text(std::int64_t length, std::int64_t stride) {
  return "in windows of " + std::to_string(length) + (stride > 0 ? " that begin every " + std::to_string(stride) : "");
}

std::string to_text(const AdaptationChoice& choice, Units units) {
  const std::string rates =
      "at rate " + short_number(choice.adaptation.rate) + " and decay " + short_number(choice.adaptation.decay);
  if (choice.tokens == 0) return rates;
  return rates + ", the rate chosen on the last " + tokens_text(choice.tokens, units) + " of the train split";
}

Json to_json(const AdaptationChoice& choice) {
  Json json = {{"rate", choice.adaptation.rate}, {"decay", choice.adaptation.decay}};
  if (choice.tokens == 0) return json;
  json["chosen_on_tokens"] = choice.tokens;
  for (const AdaptationTrial& trial : choice.trials)
    json["trials"].push_back({{"rate", trial.rate}, {"loss", trial.loss}});
  return json;
}

std::string part_line(const Scored& scored) {
  if (scored.part_of == 0) return "";
  return fmt::format("Only the first {} of {} held out were scored (data.max_val_tokens).\n",
                     format_count(scored.tokens.size() - 1), tokens_text(scored.part_of, scored.units));
}

std::string unit_word(Units units) {
  return units == Units::bytes ? "byte" : "character";
}

std::string tokens_text(std::int64_t tokens, Units units) {
  return format_count(tokens, unit_word(units));
}

Scored part_to_score(const Corpus& corpus, const std::string& split, const LoadedRun& run) {
  const bool own = corpus.fingerprint() == run.checkpoint.state.data, val = split == "val", test = split == "test";
  Scored scored{.tokens = split == "train" ? corpus.train()
                          : val            ? corpus.val()
                          : test           ? corpus.test()
                          : own            ? corpus.without_test()
                                           : corpus.all(),
                .split = split,
                .held_out = own && (val || test),
                .checkpoint = run.checkpoint.path.string(),
                .vocabulary = &run.checkpoint.vocabulary,
                .units = run.config().data.units,
                .leaks = leaks(run.config().model)};
  if (scored.tokens.size() < 2)
    throw Error(ExitCode::data, "the ", split, " split has ", tokens_text(scored.tokens.size(), scored.units),
                "; scoring needs at least 2",
                val || test ? line_of("; to hold out more, train a run with a larger --", split, "_fraction") : "");
  if (!run.checkpoint.averaged.empty()) scored.weights = enum_name(run.model->weights());
  const std::int64_t all = val ? corpus.val_tokens() : test ? corpus.test_tokens() : 0;
  if (scored.tokens.size() < all) scored.part_of = all;
  return scored;
}

void check_finite(const SplitLoss& loss, const std::string& checkpoint) {
  if (std::isfinite(loss.mean)) return;
  const auto bad = std::ranges::count_if(loss.losses, [](float value) { return !std::isfinite(value); });
  throw Error(ExitCode::diverged, checkpoint, " gives no finite loss for ", format_count(bad), " of ",
              format_count(std::ssize(loss.losses)),
              " tokens, so its weights have diverged; choose another with --checkpoint");
}

Figures figures_of(const Scored& scored, std::int64_t block_size, const SplitLoss& loss) {
  check_finite(loss, scored.checkpoint);
  return {.scored = scored,
          .loss = loss.mean,
          .tenths = tenths_of(loss.losses),
          .tokens = std::ssize(loss.losses),
          .block_size = block_size};
}

void add_loss(Table& table, const std::string& name, double nats) {
  table.add({name, format_fixed(nats, 4), format_fixed(nats / std::log(2.0), 4)});
}

void add_baselines(Table& table, const Json& baselines, const std::string& windows) {
  const Json& best = baselines["ngram"];
  const std::string name = "  counted " + best["order"].dump() + "-grams";
  table.add({"frozen baselines"});
  if (!windows.empty()) add_loss(table, name + ", " + windows, best["loss_in_windows"]);
  add_loss(table, windows.empty() ? name + " (best order)" : "    with any context", best["loss"]);
  for (const std::string order : {"trigram", "bigram", "unigram"})
    add_loss(table, "  counted " + order + "s", baselines[order]);
  add_loss(table, "  uniform", baselines["uniform"]);
  table.add({"adaptive baseline"});
  add_loss(table, "  PPMd, primed with the train split", baselines["ppmd"]["loss"]);
}

Json to_json(const Mixture* mixture) {
  if (mixture == nullptr) return nullptr;
  return {{"counted_tokens", mixture->learning().counted},
          {"network_weight", mixture->weights().network},
          {"counts_weight", mixture->weights().counts},
          {"learned_on_tokens", mixture->learning().tokens}};
}

Json to_json(const Figures& figures) {
  const Scored& scored = figures.scored;
  Json json = {{"loss", figures.loss},
               {"exact", true},
               {"bits_per_char", figures.loss / std::log(2.0)},
               {"bits_per_byte", bits_per_byte(figures)},
               {"perplexity", std::exp(figures.loss)},
               {"tenths", figures.tenths},
               {"tokens", figures.tokens},
               {"split", scored.split},
               {"block_size", figures.block_size},
               {"stride", scored.stride},
               {"units", enum_name(scored.units)},
               {"class", figures.adapted ? "adaptive" : "frozen"}};
  if (scored.part_of > 0) json["part"] = {{"tokens", scored.tokens.size()}, {"of", scored.part_of}};
  if (figures.loss_windows_64) json["loss_windows_64"] = *figures.loss_windows_64;
  if (scored.leaks) json["leaks"] = true;
  if (figures.mixture != nullptr) json["counts"] = to_json(figures.mixture);
  if (figures.network_loss) json["network_loss"] = *figures.network_loss;
  if (figures.adapted) json["adaptation"] = to_json(*figures.adapted);
  for (const Figures::Member& member : figures.members)
    json["members"].push_back({{"run", member.name}, {"loss", member.loss}});
  json["baselines"] = figures.baselines ? to_json(*figures.baselines) : Json();
  if (figures.baselines) {
    json["part_in_training_text"] = shared_part(figures);
    json["verdict"] = verdict(figures);
  }
  return json;
}

std::string summary(const Figures& figures, std::int64_t step) {
  std::string lines = fmt::format("validation loss {} at step {}, on {} held out\n", format_loss(figures.loss),
                                  format_count(step), tokens_text(figures.tokens, figures.scored.units));
  lines += part_line(figures.scored);
  for (const std::string& line : verdict(figures)) lines += line + "\n";
  if (figures.baselines && !figures.baselines->ppmd) lines += "PPMd was not measured; to measure it: chargpt eval\n";
  return lines + shared_line(figures);
}

Report report_of(const Figures& figures) {
  Report report(to_json(figures));
  const std::string per = figures.scored.units == Units::bytes ? "/byte" : "/char";
  Table table({"", "nats" + per, "bits" + per});
  add_loss(table, model_row(figures), figures.network_loss.value_or(figures.loss));
  if (figures.loss_windows_64)
    add_loss(table, figures.scored.stride > 0 ? "  in windows of 64, no overlap" : "  in windows of 64",
             *figures.loss_windows_64);
  if (figures.network_loss)
    add_loss(table,
             figures.mixture == nullptr ? "  adapting to the text"
             : figures.adapted          ? "  mixed with counts, both adapting"
                                        : "  mixed with counts",
             figures.loss);
  for (const Figures::Member& member : figures.members) add_loss(table, "  " + member.name + " alone", member.loss);
  if (figures.baselines) add_baselines(table, report.json["baselines"], windows_of(figures));
  report.add(std::move(table));
  std::string sentences = fmt::format("perplexity {:.2f}, {:.4f} bits per byte; ", std::exp(figures.loss),
                                      report.json["bits_per_byte"].get<double>()) +
                          tokens_text(figures.tokens, figures.scored.units) + ", each scored once, " +
                          windows_of(figures) + "\n" + part_line(figures.scored) + adapted_line(figures) +
                          tenths_line(figures) + baseline_line(figures) + shared_line(figures);
  for (const std::string& line : verdict(figures)) sentences += line + "\n";
  report.say(sentences);
  return report;
}

}  // namespace chargpt
