#include "predict/mixture.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "kernels/thread_team.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_counted = 4'000'000, most_learned = 100'000, least_learned = 500;
constexpr double least_probability = 1e-6;  // of the network, so that the mixture can reach every symbol
constexpr double most_added = 0.01;         // to all symbols together, if the vocabulary is large
constexpr double least_reached = 1e-3;      // for a decision reached with less probability, only the network is used
constexpr double mixer_rate = 0.003, average_rate = 0.0005;
constexpr std::int64_t steps_of_logit = 12;

/// A mixer with these initial weights: the inputs of the counts' own mixer get weight 0.
Mixer mixer_of(std::size_t inputs, const MixtureWeights& weights) {
  std::vector<double> first(inputs);
  first[inputs - 2] = weights.counts;
  first[inputs - 1] = weights.network;
  return {first, {mixer_rate, average_rate}};
}

/// Rounds `x` down, to at most `most`; returns `most` for NaN, which a diverged network may produce.
std::int64_t whole(double x, std::int64_t most) {
  return x < static_cast<double>(most) ? static_cast<std::int64_t>(x) : most;
}

std::int64_t step_of(double logit) {
  return whole(std::abs(logit) * 1.5, steps_of_logit - 1);
}

/// Minimises the loss of p = squash(network · x + counts · y) over both weights, decision by decision: Newton's method
/// with the Hessian of the decisions so far. The loss is convex in the weights.
class WeightLearner {
 public:
  void see(double network, double counts, bool bit) {
    const double p = squash(weights.network * network + weights.counts * counts), curve = p * (1 - p);
    nn_ += curve * network * network, nc_ += curve * network * counts, cc_ += curve * counts * counts;
    const double by_network = (p - bit) * network, by_counts = (p - bit) * counts, determinant = nn_ * cc_ - nc_ * nc_;
    weights.network -= (cc_ * by_network - nc_ * by_counts) / determinant;
    weights.counts -= (nn_ * by_counts - nc_ * by_network) / determinant;
  }
  MixtureWeights weights;

 private:
  double nn_ = 10, nc_ = 0, cc_ = 10;  ///< the Hessian; its initial value shortens the first steps
};

}  // namespace

Mixture::Mixture(Predictor& network, int threads, Counts counts, MixtureWeights weights)
    : network_(network),
      threads_(threads),
      counts_(std::move(counts)),
      weights_(weights),
      mixer_(mixer_of(inputs, weights)) {}

Mixture::Mixture(Predictor& network, int threads, const Vocabulary& vocabulary, TokenView train,
                 const Heartbeat& heartbeat)
    : Mixture(network, threads,
              Counts(vocabulary, frequencies_of(train, network.vocab_size()), std::min(train.size(), most_counted)),
              MixtureWeights{}) {
  learning_.counted = std::min(train.size(), most_counted);
  const std::int64_t begin = train.size() - learning_.counted, chosen = std::min(learning_.counted / 20, most_learned),
                     first = train.size() - chosen;
  Counts::History history;
  counts_.learn(train.slice(begin, first - begin), history, part_heartbeat(heartbeat, 0, 0.8));
  if (chosen >= least_learned) learn_weights(train, first, part_heartbeat(heartbeat, 0.8, 0.95));
  counts_.learn(train.slice(first, chosen), history, part_heartbeat(heartbeat, 0.95, 1));
  mixer_ = mixer_of(inputs, weights_);
}

/// Learns the weights on `train` from `first` on, decision by decision.
void Mixture::learn_weights(TokenView train, std::int64_t first, const Heartbeat& heartbeat) {
  using Decision = std::tuple<double, double, bool>;  // logits by network and counts, and the bit
  const WindowCut cut(train.slice(first, train.size() - first), block_size());
  WeightLearner learner;
  for (std::int64_t i = 0; i < cut.count(); beat(heartbeat, i, cut.count())) {
    std::vector<std::int64_t> starts;
    const std::int64_t T = cut[i].length, most = std::max<std::int64_t>(1, tokens_at_once() / T);
    for (; i < cut.count() && cut[i].length == T && std::ssize(starts) < most; ++i)
      starts.push_back(first + cut[i].begin);
    const WindowBatch windows{.tokens = train, .starts = starts, .T = T};
    std::vector<float> losses(static_cast<std::size_t>(windows.numel()));
    std::vector<std::vector<Decision>> decisions(losses.size());
    score(windows, losses, [&](const Scratch& scratch, std::size_t place, bool bit) {
      decisions[place].push_back({scratch.logits[inputs - 1], scratch.logits[inputs - 2], bit});
    });
    for (const std::vector<Decision>& of_place : decisions)
      for (const auto& [network, counts, bit] : of_place) learner.see(network, counts, bit);
    learning_.tokens += windows.counted();
  }
  // The network was trained on this text, so its weight comes out too high. Equal weights are nearly best for any
  // network that is at least as good as the counts: measurements in README.md.
  weights_ = learner.weights.network > 0.5 ? MixtureWeights{} : learner.weights;
}

// ---- one place

/// Reads the network's logits (V) of the next symbol.
void Mixture::read_network(std::span<const float> logits, Scratch& scratch) const {
  const float top = std::ranges::max(logits);
  double total = 0;
  scratch.of_symbols.resize(logits.size());
  scratch.of_bits.resize(static_cast<std::size_t>(counts_.tree().nodes()));
  for (std::size_t v = 0; v < logits.size(); ++v) total += scratch.of_symbols[v] = std::exp(double{logits[v]} - top);
  const double least = std::min(least_probability, most_added / static_cast<double>(logits.size()));
  for (double& p : scratch.of_symbols) p = p / total + least;  // the tree divides by their sum
  const auto largest = std::ranges::max_element(scratch.of_symbols);
  scratch.largest = *largest;
  scratch.favourite = largest - scratch.of_symbols.begin();
  counts_.tree().split(scratch.of_symbols, scratch.of_bits);
}

/// The network's probability that the bit of a decision is 1.
double Mixture::by_network(std::int32_t node, const Scratch& scratch) {
  return std::clamp(scratch.of_bits[static_cast<std::size_t>(node)], 1e-6, 1 - 1e-6);
}

/// The mixture's probability that the bit of a decision is 1.
double Mixture::decide(const Counts::Place& place, std::int32_t node, Counts::Known known, Scratch& scratch) const {
  counts_.decide(place, node, known, scratch.decision);
  std::ranges::copy(scratch.decision.logits, scratch.logits.begin());
  const double counts = stretch(scratch.decision.p), network = stretch(by_network(node, scratch));
  scratch.logits[inputs - 2] = counts;
  scratch.logits[inputs - 1] = network;
  scratch.chosen = scratch.decision.chosen;
  const auto place_of = [](std::int64_t selected) {
    return mixed_bits(static_cast<std::uint64_t>(selected)) % Mixer::vectors;
  };
  scratch.chosen[8] = place_of(step_of(network) * steps_of_logit + step_of(counts));
  scratch.chosen[9] = place_of(4 * scratch.favourite + whole(4 * scratch.largest, 3));
  scratch.mixed = mixer_.mix(scratch.logits, scratch.chosen);
  return std::clamp(squash(scratch.mixed.logit), 1e-6, 1 - 1e-6);
}

/// The loss of a symbol, given the network's logits (V). Calls body(bit) after each decision, which is in `scratch`.
template <class Body>
double Mixture::loss_of(std::span<const float> network, const Counts::Place& place, std::int64_t id, Scratch& scratch,
                        const Body& body) const {
  read_network(network, scratch);
  double reached = 1;
  scratch.decision.known = Counts::all_known;
  for (const SymbolTree::Step step : counts_.tree().path(id)) {
    double p = decide(place, step.node, scratch.decision.known, scratch);
    if (reached < least_reached) p = by_network(step.node, scratch);
    reached *= step.bit ? p : 1 - p;
    body(step.bit);
  }
  return -std::log(reached);
}

/// Replaces the network's logits (V) by those of the mixture.
void Mixture::mix(const Counts::History& history, std::span<float> logits, Scratch& scratch) const {
  const Counts::Place place = counts_.place_of(history);
  read_network(logits, scratch);
  counts_.tree().join(scratch.of_symbols, Counts::all_known,
                      [&](std::int32_t node, double reached, Counts::Known& known) {
                        if (reached < least_reached) return by_network(node, scratch);
                        const double p = decide(place, node, known, scratch);
                        known = scratch.decision.known;
                        return p;
                      });
  for (std::size_t v = 0; v < logits.size(); ++v) logits[v] = static_cast<float>(std::log(scratch.of_symbols[v]));
}

// ---- windows

/// Calls body(scratch, history, place, row) for every position of all windows, which are divided among the threads: its
/// index in (B, T) and its row of `rows` (B, T, V), the network's logits.
template <class Body>
void Mixture::on_windows(const WindowBatch& windows, std::span<float> rows, const Body& body) {
  const auto V = static_cast<std::size_t>(vocab_size());
  network_.logits(windows, rows);
  cpu::on_threads(threads_, [&](int thread) {
    Scratch own{};
    for (std::int64_t window = thread; window < windows.B(); window += threads_) {
      const std::int64_t start = windows.starts[static_cast<std::size_t>(window)],
                         before = std::min(start, Counts::reach);
      const std::vector<std::int64_t> ids = windows.tokens.slice(start - before, before + windows.T).ids();
      Counts::History history = counts_.history_of(std::span(ids).first(static_cast<std::size_t>(before)));
      for (std::int64_t t = 0; t < windows.T; ++t) {
        counts_.advance(history, ids[static_cast<std::size_t>(before + t)]);
        const auto place = static_cast<std::size_t>(window * windows.T + t);
        body(own, history, place, rows.subspan(place * V, V));
      }
    }
  });
}

void Mixture::logits(const WindowBatch& windows, std::span<float> logits) {
  on_windows(windows, logits, [&](Scratch& scratch, const Counts::History& history, std::size_t, std::span<float> row) {
    mix(history, row, scratch);
  });
}

/// Calls body(scratch, place, bit) after each decision of a target that counts.
template <class Body>
void Mixture::score(const WindowBatch& windows, std::span<float> losses, const Body& body) {
  std::vector<std::int64_t> targets(losses.size());
  windows.copy_targets(targets.data());
  rows_.resize(losses.size() * static_cast<std::size_t>(vocab_size()));
  on_windows(windows, rows_, [&](Scratch& scratch, const Counts::History& history, std::size_t place, auto row) {
    losses[place] = 0;
    if (targets[place] == no_target) return;
    const auto see = [&](bool bit) { body(scratch, place, bit); };
    losses[place] = static_cast<float>(loss_of(row, counts_.place_of(history), targets[place], scratch, see));
  });
}

void Mixture::score(const WindowBatch& windows, std::span<float> losses) {
  score(windows, losses, [](const auto&...) {});
}

void Mixture::score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) {
  const auto V = static_cast<std::size_t>(vocab_size());
  rows_.resize(static_cast<std::size_t>(window.length) * V);
  network_.logits_and_learn(tokens, window, rows_);  // the logits from before the step
  for (std::int64_t t = window.from; t < window.to; ++t) {
    const std::int64_t target = window.begin + t + 1;
    if (target != scored_to_) {  // a new text
      const std::int64_t before = std::min(target, Counts::reach);
      history_ = counts_.history_of(tokens.slice(target - before, before).ids());
    }
    const Counts::Place place = counts_.place_of(history_);
    const std::span<const float> row = std::span(rows_).subspan(static_cast<std::size_t>(t) * V, V);
    const double loss = loss_of(row, place, tokens[target], own_, [&](bool bit) {
      mixer_.learn(own_.logits, own_.chosen, own_.mixed, bit);
      counts_.learn(place, own_.decision, bit);
    });
    counts_.count(history_, place, tokens[target]);
    losses[static_cast<std::size_t>(t - window.from)] = static_cast<float>(loss);
    scored_to_ = target + 1;
  }
}

// ---- sequences

Predictor::Rows Mixture::mixed(const Rows& rows) {
  float* row = rows.first;
  for (const Counts::History& history : histories_) {
    mix(history, {row, static_cast<std::size_t>(vocab_size())}, own_);
    row += rows.stride;
  }
  return rows;
}

Predictor::Rows Mixture::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  histories_.assign(static_cast<std::size_t>(sequences), counts_.history_of(ids));
  return mixed(network_.start(ids, sequences));
}

Predictor::Rows Mixture::advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    histories_[i] = histories_[static_cast<std::size_t>(rows[i])];
    counts_.advance(histories_[i], ids[i]);
  }
  histories_.resize(rows.size());
  return mixed(network_.advance(rows, ids));
}

}  // namespace chargpt
