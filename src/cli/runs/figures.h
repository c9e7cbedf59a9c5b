// The figures of one model on one split, as `eval` and the end of `train` show them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/runs/loaded_run.h"
#include "evaluate/adaptation_choice.h"
#include "evaluate/baseline.h"
#include "evaluate/split_loss.h"
#include "predict/mixture.h"
#include "report/report.h"

namespace chargpt {

/// The unit of losses: "character", or "byte" for byte-level models.
std::string unit_word(Units units);
/// "1,234 characters"
std::string tokens_text(std::int64_t tokens, Units units);

/// "in windows of 64 that begin every 32"; stride 0: no overlap.
std::string windows_text(std::int64_t length, std::int64_t stride);

/// The tokens to score, and how to score them.
struct Scored {
  TokenView tokens;
  std::string split;         ///< train, val, test or all
  bool held_out = false;     ///< the run's own validation or test split, not used for training
  std::int64_t part_of = 0;  ///< tokens held out, if only the first of them are scored (data.max_val_tokens)
  std::int64_t stride = 0;   ///< of overlapping windows; 0: no overlap
  std::string checkpoint{};  ///< for messages
  std::string weights{};     ///< trained or averaged, if there are both
  const Vocabulary* vocabulary = nullptr;  ///< of the tokens
  Units units = Units::characters;
  bool leaks = false;  ///< the model sees its own targets
};
/// A split of `corpus` for the run to score; `all` of the run's own text leaves out the test split. Throws Error data
/// if it has fewer than two tokens.
Scored part_to_score(const Corpus& corpus, const std::string& split, const LoadedRun& run);
/// "Only the first 999 of 1,843 characters held out were scored (data.max_val_tokens).", or "" if all were.
std::string part_line(const Scored& scored);

struct Figures {
  Scored scored;
  double loss = 0;             ///< nats per token
  std::vector<double> tenths;  ///< loss by tenths of the split, in order
  std::int64_t tokens = 0, block_size = 0;
  std::optional<double> loss_windows_64 = {};  ///< in windows of 64, no overlap; nullopt: shorter, or not measured
  /// One model of an ensemble.
  struct Member {
    std::string name;
    double loss = 0;
  };
  std::vector<Member> members = {};              ///< empty: a single model
  std::optional<double> network_loss = {};       ///< of the network as trained, if `loss` includes counts or adapting
  const Mixture* mixture = nullptr;              ///< nullptr without --counts
  std::optional<AdaptationChoice> adapted = {};  ///< nullopt without --adapt
  std::optional<Baselines> baselines = {};       ///< nullopt if the training text is not available
};

/// The figures of networks as trained, without baselines, from their loss in windows of block_size. Throws Error
/// diverged, naming the checkpoint, if the loss is not finite.
Figures figures_of(const Scored& scored, std::int64_t block_size, const SplitLoss& loss);

/// Throws Error diverged, naming the checkpoint, if the loss is not finite.
void check_finite(const SplitLoss& loss, const std::string& checkpoint);

/// Adds a row to a table of losses: nats and bits.
void add_loss(Table& table, const std::string& name, double nats);
/// Adds the rows of the baselines (from to_json()), by class, the strongest first. `windows`: describes the windows
/// that the model is scored in.
void add_baselines(Table& table, const Json& baselines, const std::string& windows = "");

/// "at rate 0.0002 and decay 0.0005, the rate chosen on the last 50,000 characters of the train split"
std::string to_text(const AdaptationChoice& choice, Units units);
Json to_json(const AdaptationChoice& choice);
/// The value of "counts" in `eval` and `score`; null without --counts.
Json to_json(const Mixture* mixture);
/// The document of `eval --json`.
Json to_json(const Figures& figures);
/// The lines shown after training: the loss at `step`, compared with the baselines.
std::string summary(const Figures& figures, std::int64_t step);
/// The loss, with the baselines of counting and compression.
Report report_of(const Figures& figures);

}  // namespace chargpt
