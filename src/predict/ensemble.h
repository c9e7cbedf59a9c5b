// Several predictors as one: the mean of their probabilities. By Jensen's inequality its loss is never above the mean
// of theirs. Knows no network and no count.
#pragma once

#include <span>
#include <vector>

#include "predict/predictor.h"

namespace chargpt {

class Ensemble : public Predictor {
 public:
  /// `members` are of one vocabulary and must outlive it. `weights`: of each, none below 0, their sum 1; empty: equal.
  explicit Ensemble(std::vector<Predictor*> members, std::vector<double> weights = {});

  const std::vector<double>& weights() const { return weights_; }

  std::int64_t vocab_size() const override { return members_.front()->vocab_size(); }
  /// The shortest of theirs: all members score the same windows.
  std::int64_t block_size() const override;
  /// Each member sees as much of a sequence as it does alone.
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override;
  void logits(const WindowBatch& windows, std::span<float> logits) override;
  void score(const WindowBatch& windows, std::span<float> losses) override;
  /// Each member learns by itself.
  void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) override;
  void logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) override;
  void restart() override;

 private:
  template <class Ask>
  void ask_for_losses(std::span<float> losses, const Ask& ask);
  template <class Ask>
  void ask_for_logits(std::span<float> logits, const Ask& ask);
  template <class Ask>
  Rows mean_of_rows(std::int64_t sequences, const Ask& ask);
  void add(const float* logits, double weight, double* mean) const;

  std::vector<Predictor*> members_;
  std::vector<double> weights_;
  std::vector<double> mean_;  ///< probabilities, (rows, V)
  std::vector<float> rows_;   ///< their logarithms; losses of members
};

/// Of the mean of probabilities, from the losses of its members (members, targets), one member after the other, and
/// their weights: -log sum_i w_i e^-loss_i, nats.
void mean_of_losses(std::span<const float> of_members, std::span<const double> weights, std::span<float> losses);

/// The weights of the lowest loss on targets that each member has scored: losses[i][t], nats. From equal weights on by
/// expectation maximisation, w_i = mean over t of w_i p_i(t) / sum_j w_j p_j(t), each step of which lowers the loss,
/// until no others could lower it by more than 1e-5 nats, or 2,000 steps.
/// Source: Jelinek and Mercer (1980), interpolated estimation.
std::vector<double> ensemble_weights(const std::vector<std::vector<float>>& losses);

}  // namespace chargpt
