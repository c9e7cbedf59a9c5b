// A network and counts, weighed: p(v) is proportional to the product of what each says of v, p_i(v) to the power w_i,
// over all symbols v before any answer is looked at. The weights depend on what the counts have seen, and on how much
// the network sees. Source: logistic mixing, Mahoney (2005), for more symbols than two.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "predict/counts.h"
#include "predict/network.h"

namespace chargpt {

/// What each expert counts for: the network, then the counts by order. A row of them is the sum of two: one by what
/// the longest context that was counted has of followers, one by how many symbols the network sees.
class MixtureWeights {
 public:
  static constexpr int experts = 1 + Counts::orders;
  using Row = std::array<float, experts>;

  /// `network` for it, the rest for the longest context that was counted.
  explicit MixtureWeights(float network);
  /// The two rows that hold at a place.
  Row& by_match(const Counts::Match& match);
  Row& by_context(std::int64_t context);

 private:
  std::vector<Row> by_match_, by_context_;
};

/// What the weights were learned on: the end of the train split, by counts that leave it out. The network was trained on
/// it, so that its loss there is lower than on new text by its bias.
struct MixtureLearning {
  std::int64_t counted = 0;   ///< tokens of the train split that the final counts are of: the first 10 million at most
  std::int64_t tokens = 0;    ///< 0: too few to learn from
  double network_loss = 0, mixture_loss = 0;  ///< there, nats per token; the mixture's while it still learned
};

class Mixture : public Predictor {
 public:
  /// Learns weights on the last twentieth of `train`, 100,000 tokens at most, then counts all of it. `network` must
  /// outlive it.
  Mixture(NetworkPredictor& network, TokenView train, const Heartbeat& heartbeat = {});
  /// With weights as they are.
  Mixture(NetworkPredictor& network, Counts counts, MixtureWeights weights);

  ~Mixture() override;

  const MixtureLearning& learning() const { return learning_; }

  std::int64_t vocab_size() const override { return network_.vocab_size(); }
  std::int64_t block_size() const override { return network_.block_size(); }
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override { return network_.at_once(); }
  /// The counts see the text before a window too.
  void logits(const WindowBatch& windows, std::span<float> logits) override;

 private:
  class Place;
  void learn(TokenView train, std::int64_t first, const Heartbeat& heartbeat);
  template <class Body>
  void for_each_place(const WindowBatch& windows, std::int64_t window, std::span<float> rows, const Body& body) const;
  Rows mixed(const Rows& rows);

  NetworkPredictor& network_;
  Counts counts_;
  MixtureWeights weights_;
  MixtureLearning learning_;
  std::vector<Counts::State> states_;  ///< of each sequence
  std::unique_ptr<Place> place_;       ///< where sequences are mixed
};

}  // namespace chargpt
