// The figures of one model on one split, as `eval` and the end of `train` show them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/runs/adaptation.h"
#include "cli/runs/loaded_run.h"
#include "evaluate/baseline.h"
#include "evaluate/split_loss.h"
#include "predict/mixture.h"
#include "report/report.h"

namespace chargpt {

/// "character", or "byte" of models of bytes: what losses are per.
std::string unit_word(Units units);
/// "1,234 characters"
std::string tokens_text(std::int64_t tokens, Units units);

/// "in windows of 64 that begin every 32"; stride 0: no overlap.
std::string windows_text(std::int64_t length, std::int64_t stride);
/// That a part of a text also occurs in the training text; empty for a small one.
std::string shared_text_line(double part, Units units, const std::string& text = "this text",
                             const std::string& in = "training text");

/// What is scored, and how.
struct Scored {
  TokenView tokens;
  std::string split;         ///< train, val, test or all
  bool held_out = false;     ///< the run's own validation or test split: held out from what the model was trained on
  std::int64_t part_of = 0;  ///< tokens held out, if only the first of them are scored (data.max_val_tokens)
  std::int64_t stride = 0;   ///< of overlapping windows; 0: no overlap
  std::string checkpoint{};  ///< for messages
  std::string weights{};     ///< trained or averaged, if there are both
  const Vocabulary* vocabulary = nullptr;  ///< of the tokens; the corpus's
  Units units = Units::characters;
  bool leaks = false;  ///< the model sees what it is to predict
};
/// The validation split of the text that a run was trained on; its test split.
Scored validation_of(const Corpus& corpus, const LoadedRun& run);
Scored test_of(const Corpus& corpus, const LoadedRun& run);

struct Figures {
  Scored scored;
  double loss = 0;             ///< nats per token
  std::vector<double> tenths;  ///< loss by tenths of the split, in order
  std::int64_t tokens = 0, block_size = 0;
  std::optional<double> loss_windows_64 = {};  ///< if block_size > 64: the same split in windows of 64, no overlap
  /// One of several models that are scored as one.
  struct Member {
    std::string name;
    double loss = 0;
  };
  std::vector<Member> members = {};              ///< none: it is one model
  double seconds = 0;                            ///< that scoring `loss` took
  std::optional<double> network_loss = {};       ///< of the network as it was trained, where `loss` is not its own
  const Mixture* mixture = nullptr;              ///< if it is mixed with counts
  std::optional<AdaptationChoice> adapted = {};  ///< if it learns from the text that it scores
  std::optional<Baselines> baselines = {};       ///< absent if the training text is not at hand
};

/// Of networks as they were trained; without baselines. Error diverged, naming the checkpoint, for a loss that is not
/// finite.
Figures measure(Predictor& networks, const Scored& scored, const Heartbeat& heartbeat);

/// The same of a loss that was computed already, in so many seconds.
Figures measured(Predictor& networks, const Scored& scored, const SplitLoss& loss, double seconds,
                 const Heartbeat& heartbeat);

/// Error diverged, naming the checkpoint, for a loss that is not finite.
void check_finite(const SplitLoss& loss, const std::string& checkpoint);

/// A row of a table of losses: nats, and bits beside them.
void add_loss(Table& table, const std::string& name, double nats);
/// Rows of the baselines, as to_json() has them, by class, the strongest first; `windows`: what those that the model is
/// scored in are called.
void add_baselines(Table& table, const Json& baselines, const std::string& windows = "");

/// "counts" of `eval` and `score`; null without them.
Json to_json(const Mixture* mixture);
/// interface of `eval --json`.
Json to_json(const Figures& figures);
/// What the end of a training shows: the loss at `step`, what it beats and what beats it.
std::string summary(const Figures& figures, std::int64_t step);
/// The loss beside what counting and compressing reach.
Report report_of(const Figures& figures);

}  // namespace chargpt
