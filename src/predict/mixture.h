// A network mixed with counts at each decision of the symbol tree; the network's probability is one more input. Frozen:
// two fixed weights, and nothing is learned from the scored text. Adaptive: the counts include the scored text, and
// weights selected by context learn from it, as does the network if it can. Source: Mahoney (2005); README.md links the
// measurements.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "predict/counts.h"
#include "predict/mixer.h"
#include "predict/predictor.h"

namespace chargpt {

/// Weights of the logits of each decision.
struct MixtureWeights {
  double network = 0.5, counts = 0.5;
};

/// How the weights were learned: on the end of the training split, with counts of the rest.
struct MixtureLearning {
  std::int64_t counted = 0;  ///< counted tokens of the training split: at most the last 4 million
  std::int64_t tokens = 0;   ///< tokens that the weights were learned on; 0: too few, so the weights are equal
};

class Mixture : public Predictor {
 public:
  /// Counts `train`; learns the weights on its last twentieth, at most 100,000 tokens. `network` must outlive it.
  Mixture(Predictor& network, int threads, const Vocabulary& vocabulary, TokenView train,
          const Heartbeat& heartbeat = {});
  Mixture(Predictor& network, int threads, Counts counts, MixtureWeights weights);

  const MixtureWeights& weights() const { return weights_; }
  const MixtureLearning& learning() const { return learning_; }

  std::int64_t vocab_size() const override { return network_.vocab_size(); }
  std::int64_t block_size() const override { return network_.block_size(); }
  Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) override;
  Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) override;
  std::int64_t at_once() const override { return network_.at_once(); }
  /// The counts also see the text before a window.
  void logits(const WindowBatch& windows, std::span<float> logits) override;
  void score(const WindowBatch& windows, std::span<float> losses) override;
  void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) override;

 private:
  static constexpr std::size_t inputs = Counts::inputs + 2;
  /// Buffers of one thread; read_network() sets their sizes.
  struct Scratch {
    std::vector<double> of_symbols, of_bits;  ///< probabilities of the network: (V), (nodes)
    double largest = 0;                       ///< the network's probability of `favourite`, its most probable symbol
    std::int64_t favourite = 0;
    Counts::Decision decision;
    std::array<double, inputs> logits;
    Mixer::Chosen chosen;
    Mixer::Mixed mixed;
  };
  void read_network(std::span<const float> logits, Scratch& scratch) const;
  static double by_network(std::int32_t node, const Scratch& scratch);
  double decide(const Counts::Place& place, std::int32_t node, Counts::Known known, Scratch& scratch) const;
  template <class Body>
  double loss_of(std::span<const float> network, const Counts::Place& place, std::int64_t id, Scratch& scratch,
                 const Body& body) const;
  void mix(const Counts::History& history, std::span<float> logits, Scratch& scratch) const;
  template <class Body>
  void on_windows(const WindowBatch& windows, std::span<float> rows, const Body& body);
  template <class Body>
  void score(const WindowBatch& windows, std::span<float> losses, const Body& body);
  void learn_weights(TokenView train, std::int64_t first, const Heartbeat& heartbeat);
  Rows mixed(const Rows& rows);

  Predictor& network_;
  int threads_;
  Counts counts_;
  MixtureWeights weights_;
  MixtureLearning learning_;
  Mixer mixer_;
  std::vector<Counts::History> histories_;  ///< one per sequence
  Scratch own_{};
  /// In adaptive scoring: index of the next target, and its history.
  std::int64_t scored_to_ = -1;
  Counts::History history_;
  std::vector<float> rows_;
};

}  // namespace chargpt
