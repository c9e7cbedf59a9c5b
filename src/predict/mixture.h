// A network and counts, weighed: p(v) is proportional to network(v)^a counts(v)^b, over all symbols v before any answer
// is looked at. Source: logistic mixing, Mahoney (2005), for more symbols than two; README.md has what was measured.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "predict/counts.h"
#include "predict/network.h"

namespace chargpt {

/// The exponents.
struct MixtureWeights {
  double network = 0.5, counts = 0.5;
};

/// Where the weights come from: the end of the train split, by counts that leave it out. The network was trained on
/// that text, so that its loss there is lower than on new text.
struct MixtureLearning {
  std::int64_t counted = 0;  ///< tokens of the train split that the final counts are of: the first 10 million at most
  std::int64_t tokens = 0;   ///< that the weights were learned on; 0: too few, they are equal
  double network_loss = 0, mixture_loss = 0;  ///< there, nats per token; the mixture's while it learned
};

class Mixture : public Predictor {
 public:
  /// Learns the weights on the last twentieth of `train`, 100,000 tokens at most, then counts all of it. `network` must
  /// outlive it.
  Mixture(NetworkPredictor& network, TokenView train, const Heartbeat& heartbeat = {});
  Mixture(NetworkPredictor& network, Counts counts, MixtureWeights weights);

  const MixtureWeights& weights() const { return weights_; }
  const MixtureLearning& learning() const { return learning_; }

  std::int64_t vocab_size() const override { return network_.vocab_size(); }
  std::int64_t block_size() const override { return network_.block_size(); }
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override { return network_.at_once(); }
  /// The counts see the text before a window too.
  void logits(const WindowBatch& windows, std::span<float> logits) override;

 private:
  void learn(TokenView train, std::int64_t first, const Heartbeat& heartbeat);
  template <class Body>
  void for_each_place(const WindowBatch& windows, std::int64_t window, std::span<float> rows, const Body& body) const;
  void mix(const Counts::State& state, std::span<float> logits, std::span<float> room) const;
  Rows mixed(const Rows& rows);

  NetworkPredictor& network_;
  Counts counts_;
  MixtureWeights weights_;
  MixtureLearning learning_;
  std::vector<Counts::State> states_;  ///< of each sequence
  std::vector<float> room_;            ///< (V)
};

}  // namespace chargpt
