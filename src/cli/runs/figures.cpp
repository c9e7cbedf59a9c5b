#include "cli/runs/figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "cli/output.h"
#include "evaluate/shared_text.h"
#include "network/model_types.h"
#include "report/charts/heat_map.h"
#include "report/format.h"

namespace chargpt {

namespace {

/// The part from which shared text is worth mentioning: it moves a loss by a hundredth.
constexpr double little = 0.005;
/// Less than that is shown as 0.
constexpr double least_shown = 0.00005;

/// The part of the scored text that also appears in the train split.
double shared_part(const Figures& figures) {
  if (!figures.baselines) return 0;
  return static_cast<double>(figures.baselines->shared) / static_cast<double>(figures.baselines->measured);
}

bool knows_the_text(const Figures& figures) {
  return !figures.scored.held_out && shared_part(figures) >= little;
}

std::string windows_of(const Figures& figures) {
  return windows_text(figures.block_size, figures.scored.stride);
}

std::string model_row(const Figures& figures) {
  const std::size_t members = figures.members.size();
  std::string name =
      (members > 0 ? std::to_string(members) + " models as one, " : "this model, ") + figures.scored.split;
  if (!figures.scored.weights.empty()) name += ", " + figures.scored.weights + " weights";
  return name;
}

/// "the first 1,000,000 of 20,000,000 that are held out (data.max_val_tokens), …"
std::string scored_line(const Figures& figures) {
  std::string line =
      tokens_text(figures.tokens, figures.scored.units) + ", each scored once, " + windows_of(figures) + "\n";
  if (figures.scored.part_of > 0)
    line += "They are only the first of " + tokens_text(figures.scored.part_of, figures.scored.units) +
            " held out (data.max_val_tokens).\n";
  return line;
}

/// Per byte of UTF-8; what is between documents counts as one.
double bits_per_byte(const Figures& figures) {
  std::int64_t bytes = 0;
  const TokenView& tokens = figures.scored.tokens;
  tokens.slice(1, tokens.size() - 1).each_run([&](std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids)
      bytes += std::max<std::int64_t>(1, std::ssize(figures.scored.vocabulary->symbol(id)));
  });
  return figures.loss * static_cast<double>(figures.tokens) / std::log(2.0) / static_cast<double>(bytes);
}

/// Says so if the baselines cover only a part of the text.
std::string baseline_line(const Figures& figures) {
  if (!figures.baselines || figures.baselines->measured >= figures.tokens) return "";
  return "The baselines cover only the first " + tokens_text(figures.baselines->measured, figures.scored.units) + ".\n";
}

std::string shared_line(const Figures& figures) {
  const double part = shared_part(figures);
  if (part < little) return "";
  if (!figures.scored.held_out)
    return shared_text_line(part, figures.scored.units) + "; do not compare it with the baselines.\n";
  const std::string split = figures.scored.split == "test" ? "test split" : "validation split";
  return shared_text_line(part, figures.scored.units, "the " + split, "train split") + ".\n";
}

/// "by tenths of the split: ▂▁▃…, 1.41 to 1.78 nats per character": how much the loss varies along the text.
std::string tenths_line(const Figures& figures) {
  const std::vector<double>& tenths = figures.tenths;
  if (tenths.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(tenths);
  return "by tenths of the text: " + sparkline(tenths, most) + " from " + format_fixed(least, 4) + " to " +
         format_fixed(most, 4) + " nats per " + unit_word(figures.scored.units) + "\n";
}

/// What the counts have added, or would add.
std::string counts_line(const Figures& figures) {
  constexpr double worth_mixing = 0.2;  // behind the network by no more than that, counts still lower its loss
  if (figures.mixture != nullptr) {
    const MixtureLearning& learning = figures.mixture->learning();
    if (learning.tokens == 0) return "";
    return "The weights of the mixture, network " + format_fixed(figures.mixture->weights().network, 2) +
           " and counts " + format_fixed(figures.mixture->weights().counts, 2) + ", come from the last " +
           tokens_text(learning.tokens, figures.scored.units) + " of the train split, where the network's loss is " +
           format_fixed(learning.network_loss, 4) + ", since it was trained on them.\n";
  }
  if (figures.scored.leaks || !figures.baselines || knows_the_text(figures) || figures.loss < least_shown ||
      figures.baselines->ngram > figures.loss + worth_mixing)
    return "";
  return "--counts (eval, sample) mixes in counts of the training text, for a lower loss.\n";
}

/// What was learned from.
std::string adapted_line(const Figures& figures) {
  if (!figures.adapted) return "";
  return "Adapting: after each window " + std::string(figures.members.empty() ? "the network" : "each network") +
         " learned from the " + unit_word(figures.scored.units) + "s just scored, " +
         to_text(*figures.adapted, figures.scored.units) + ".\n";
}

/// Of several models as one.
std::string speed_line(const Figures& figures) {
  if (figures.members.empty()) return "";
  return "Scored in " + format_duration(figures.seconds) + ", " +
         tokens_text(std::llround(static_cast<double>(figures.tokens) / figures.seconds), figures.scored.units) +
         " a second.\n";
}

/// "beats PPMd (1.4062) by 0.0200", or the contrary; no winner by less than is shown.
std::string beside(double loss, const std::string& rival, double its_loss) {
  const std::string by = format_fixed(std::abs(its_loss - loss), 4),
                    its = rival + " (" + format_fixed(its_loss, 4) + ")";
  return by == "0.0000" ? "is level with " + its : (loss < its_loss ? "beats " : "is behind ") + its + " by " + by;
}

/// Counted n-grams in the windows of the network; with any context where it is mixed with counts, which have any too.
std::string frozen_line(const Figures& figures) {
  const Baselines& baselines = *figures.baselines;
  const std::string name = "counted " + std::to_string(baselines.ngram_order) + "-grams";
  const double loss = figures.adapted ? *figures.network_loss : figures.loss;
  if (figures.mixture != nullptr && !figures.adapted) return "It " + beside(loss, name, baselines.ngram) + ".";
  const bool only_in_windows = loss < baselines.ngram_in_windows && loss >= baselines.ngram;
  return (figures.adapted ? "As trained, it " : "It ") +
         beside(loss, name + " " + windows_of(figures), baselines.ngram_in_windows) +
         (only_in_windows ? "; with any context these reach " + format_fixed(baselines.ngram, 4) : "") + ".";
}

std::string adaptive_line(const Figures& figures) {
  const double ppmd = *figures.baselines->ppmd;
  if (figures.adapted) return "Adapting to the text, it " + beside(figures.loss, "PPMd", ppmd) + ".";
  const std::string name = "PPMd (" + format_fixed(ppmd, 4) + "), a compressor that learns as it reads",
                    by = format_fixed(std::abs(ppmd - figures.loss), 4) + ".";
  if (by == "0.0000.") return "It is level with " + name + ".";
  return figures.loss < ppmd ? "It beats " + name + ", by " + by : name + ", is ahead by " + by;
}

/// Whether it beats the strongest rival of each class; where it adapts, the network as it was trained is the frozen
/// one.
std::vector<std::string> verdict(const Figures& figures) {
  if (figures.scored.leaks)
    return {"This model leaks: a position sees its own target, so its loss says nothing about prediction."};
  if (!figures.baselines || knows_the_text(figures)) return {};
  if (!figures.baselines->ppmd) return {frozen_line(figures)};
  return {frozen_line(figures), adaptive_line(figures)};
}

/// Where a rival is ahead that learns from the text.
std::string adapt_line(const Figures& figures) {
  if (figures.adapted || verdict(figures).size() < 2 || figures.loss < *figures.baselines->ppmd + least_shown)
    return "";
  return "--adapt --counts (eval, score) make this model learn too.\n";
}

/// `all`: tokens held out.
Scored held_out_part(const std::string& split, TokenView tokens, std::int64_t all, const LoadedRun& run) {
  Scored scored{.tokens = tokens,
                .split = split,
                .held_out = true,
                .checkpoint = run.checkpoint.path.string(),
                .vocabulary = &run.checkpoint.vocabulary,
                .units = run.config().data.units,
                .leaks = leaks(run.config().model)};
  if (!run.checkpoint.averaged.empty()) scored.weights = enum_name(run.model->weights());
  if (tokens.size() < all) scored.part_of = all;
  return scored;
}

}  // namespace

std::string windows_text(std::int64_t length, std::int64_t stride) {
  return "in windows of " + std::to_string(length) + (stride > 0 ? " that begin every " + std::to_string(stride) : "");
}

std::string shared_text_line(double part, Units units, const std::string& text, const std::string& in) {
  if (part < little) return "";
  return format_fixed(std::clamp(100 * part, 1.0, part < 1 ? 99.0 : 100.0), 0) + " % of " + text +
         " also appears in the " + in + " (in stretches of " + std::to_string(shared_stretch) + " " + unit_word(units) +
         "s or more), so there the losses measure memorization, not prediction";
}

std::string unit_word(Units units) {
  return units == Units::bytes ? "byte" : "character";
}

std::string tokens_text(std::int64_t tokens, Units units) {
  return format_count(tokens, unit_word(units));
}

Scored validation_of(const Corpus& corpus, const LoadedRun& run) {
  return held_out_part("val", corpus.val(), corpus.val_tokens(), run);
}

Scored test_of(const Corpus& corpus, const LoadedRun& run) {
  return held_out_part("test", corpus.test(), corpus.test_tokens(), run);
}

void check_finite(const SplitLoss& loss, const std::string& checkpoint) {
  if (std::isfinite(loss.mean)) return;
  const auto bad = std::ranges::count_if(loss.losses, [](float value) { return !std::isfinite(value); });
  throw Error(ExitCode::diverged, checkpoint, " gives no finite loss for ", format_count(bad), " of ",
              format_count(loss.tokens), " tokens, so its weights have diverged; choose another with --checkpoint");
}

Figures measure(Predictor& networks, const Scored& scored, const Heartbeat& heartbeat) {
  const double begun = steady_seconds();
  const SplitLoss loss = split_loss(networks, scored.tokens, networks.block_size(), scored.stride, heartbeat);
  return measured(networks, scored, loss, steady_seconds() - begun, heartbeat);
}

Figures measured(Predictor& networks, const Scored& scored, const SplitLoss& loss, double seconds,
                 const Heartbeat& heartbeat) {
  check_finite(loss, scored.checkpoint);
  Figures figures{.scored = scored,
                  .loss = loss.mean,
                  .tenths = tenths_of(loss.losses, scored.tokens),
                  .tokens = loss.tokens,
                  .block_size = networks.block_size(),
                  .seconds = seconds};
  if (figures.block_size > 64) figures.loss_windows_64 = split_loss(networks, scored.tokens, 64, 0, heartbeat).mean;
  return figures;
}

void add_loss(Table& table, const std::string& name, double nats) {
  table.add({name, format_fixed(nats, 4), format_fixed(nats / std::log(2.0), 4)});
}

void add_baselines(Table& table, const nlohmann::ordered_json& baselines, const std::string& windows) {
  const nlohmann::ordered_json& best = baselines["ngram"];
  const std::string name = "  counted " + best["order"].dump() + "-grams";
  table.add({"frozen rivals"});
  if (!windows.empty()) add_loss(table, name + ", " + windows, best["loss_in_windows"]);
  add_loss(table, windows.empty() ? name + " (best order)" : "    with any context", best["loss"]);
  for (const std::string order : {"trigram", "bigram", "unigram"})
    add_loss(table, "  counted " + order + "s", baselines[order]);
  add_loss(table, "  uniform", baselines["uniform"]);
  table.add({"adaptive rival"});
  add_loss(table, "  PPMd, knowing the train split", baselines["ppmd"]["loss"]);
}

nlohmann::ordered_json to_json(const Mixture* mixture) {
  if (mixture == nullptr) return nullptr;
  const MixtureLearning& learning = mixture->learning();
  nlohmann::ordered_json json = {{"counted_tokens", learning.counted},
                                 {"network_weight", mixture->weights().network},
                                 {"counts_weight", mixture->weights().counts},
                                 {"learned_on_tokens", learning.tokens}};
  if (learning.tokens > 0)
    json.update({{"network_loss_there", learning.network_loss},
                 {"counts_loss_there", learning.counts_loss},
                 {"mixture_loss_there", learning.mixture_loss}});
  return json;
}

nlohmann::ordered_json to_json(const Figures& figures) {
  const Scored& scored = figures.scored;
  nlohmann::ordered_json json = {{"loss", figures.loss},
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
  json["baselines"] = figures.baselines ? to_json(*figures.baselines) : nlohmann::ordered_json();
  if (figures.baselines) {
    json["part_in_training_text"] = shared_part(figures);
    json["verdict"] = verdict(figures);
  }
  return json;
}

void print_summary(const Figures& figures, std::int64_t step) {
  std::string lines = "validation loss " + format_loss(figures.loss) + " at step " + format_count(step) + ", of " +
                      tokens_text(figures.tokens, figures.scored.units) + " that it has not seen\n";
  for (const std::string& line : verdict(figures)) lines += line + "\n";
  if (figures.baselines && !figures.baselines->ppmd) lines += "PPMd: chargpt eval shows it\n";
  print_lines(lines + shared_line(figures));
}

void print_figures(const Figures& figures) {
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
  if (figures.baselines) add_baselines(table, to_json(*figures.baselines), windows_of(figures));
  std::string sentences = "perplexity " + format_fixed(std::exp(figures.loss), 2) + ", " +
                          format_fixed(bits_per_byte(figures), 4) + " bits per byte; " + scored_line(figures) +
                          speed_line(figures) + adapted_line(figures) + tenths_line(figures) + baseline_line(figures) +
                          shared_line(figures);
  for (const std::string& line : verdict(figures)) sentences += line + "\n";
  sentences += counts_line(figures) + adapt_line(figures);
  print_table(table);
  print_lines(sentences);
}

}  // namespace chargpt
