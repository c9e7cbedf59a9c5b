// The mean of the probabilities of several predictors. By Jensen's inequality its loss is at most the mean of their
// losses. Independent of networks and counts.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "predict/predictor.h"

namespace chargpt {

class Ensemble : public Predictor {
 public:
  /// `members` share one vocabulary and must outlive the ensemble.
  explicit Ensemble(std::vector<Predictor*> members) : members_(std::move(members)) {}

  std::int64_t vocab_size() const override { return members_.front()->vocab_size(); }
  /// The smallest block_size of the members, because all members score the same windows.
  std::int64_t block_size() const override;
  /// Each member sees as much of a sequence as it would alone.
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override;
  void logits(const WindowBatch& windows, std::span<float> logits) override;
  void score(const WindowBatch& windows, std::span<float> losses) override;
  /// Each member learns independently.
  void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) override;
  void logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) override;

 private:
  template <class Ask>
  void ask_for_losses(std::span<float> losses, const Ask& ask);
  template <class Ask>
  Rows ask_for_logits(std::span<float> logits, const Ask& ask);
  void add(const float* logits, double* mean) const;

  std::vector<Predictor*> members_;
  std::vector<double> mean_;  ///< probabilities, (rows, V)
  std::vector<float> rows_;   ///< logarithms of mean_, or the losses of the members
};

/// Computes the losses of the mean of M members' probabilities from the members' losses (M, targets): -log sum_i
/// e^-loss_i / M, in nats.
void mean_of_losses(std::span<const float> of_members, std::span<float> losses);

}  // namespace chargpt
