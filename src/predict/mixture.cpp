#include "predict/mixture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/thread_team.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_counted = 10'000'000, most_learned = 100'000, least_learned = 500;

/// The stretch from `from` to `to` of the whole work.
Heartbeat part_of(const Heartbeat& whole, double from, double to) {
  if (!whole) return {};
  return [&whole, from, to](double part) { whole(from + part * (to - from)); };
}

TokenView beginning(TokenView tokens) {
  return tokens.slice(0, std::min(tokens.size(), most_counted));
}

/// Minimises the mean loss over places by the weights, which it sees one after the other: Newton's method with the
/// Hessian so far. The loss is convex in them.
class WeightLearner {
 public:
  explicit WeightLearner(MixtureWeights& weights) : weights_(weights) {}

  /// What network and counts say of every symbol, logits up to a constant each, and which one came.
  void see(std::span<const float> network, std::span<const float> counts, std::size_t came) {
    const auto mixed = [&](std::size_t v) { return weights_.network * network[v] + weights_.counts * counts[v]; };
    double top = mixed(0), top_of_network = network[0], total = 0, total_of_network = 0;
    for (std::size_t v = 1; v < network.size(); ++v)
      top = std::max(top, mixed(v)), top_of_network = std::max(top_of_network, double{network[v]});
    double n = 0, c = 0, nn = 0, nc = 0, cc = 0;  // sums over symbols, weighed by the mixture
    for (std::size_t v = 0; v < network.size(); ++v) {
      const double weight = std::exp(mixed(v) - top), of_network = network[v], of_counts = counts[v];
      total += weight;
      total_of_network += std::exp(of_network - top_of_network);
      n += weight * of_network, c += weight * of_counts;
      nn += weight * of_network * of_network, nc += weight * of_network * of_counts,
          cc += weight * of_counts * of_counts;
    }
    losses_ += std::log(total) + top - mixed(came);
    losses_of_network_ += std::log(total_of_network) + top_of_network - network[came];
    ++seen_;
    n /= total, c /= total;
    nn_ += nn / total - n * n, nc_ += nc / total - n * c, cc_ += cc / total - c * c;
    const double by_network = n - network[came], by_counts = c - counts[came], determinant = nn_ * cc_ - nc_ * nc_;
    weights_.network -= (cc_ * by_network - nc_ * by_counts) / determinant;
    weights_.counts -= (nn_ * by_counts - nc_ * by_network) / determinant;
  }
  double mean_loss() const { return losses_ / seen_; }
  double mean_loss_of_network() const { return losses_of_network_ / seen_; }

 private:
  MixtureWeights& weights_;
  double nn_ = 10, nc_ = 0, cc_ = 10;  ///< the Hessian; at first as of a few places, so that the first steps are short
  double losses_ = 0, losses_of_network_ = 0, seen_ = 0;
};

}  // namespace

Mixture::Mixture(NetworkPredictor& network, Counts counts, MixtureWeights weights)
    : network_(network),
      counts_(std::move(counts)),
      weights_(weights),
      room_(static_cast<std::size_t>(network.vocab_size())) {}

Mixture::Mixture(NetworkPredictor& network, TokenView train, const Heartbeat& heartbeat)
    : Mixture(network, Counts({}, network.vocab_size()), MixtureWeights{}) {
  const std::int64_t tokens = std::min(train.size() / 20, most_learned);
  const TokenView before = beginning(train.slice(0, train.size() - tokens)), all = beginning(train);
  if (tokens >= least_learned) {
    counts_ = Counts({before}, vocab_size(), part_of(heartbeat, 0, 0.4));
    learn(train, train.size() - tokens, part_of(heartbeat, 0.4, 0.6));
  }
  counts_ = Counts({all}, vocab_size(), part_of(heartbeat, 0.6, 1));
  learning_.counted = all.size();
}

/// On whole windows from `first` on, one after the other.
void Mixture::learn(TokenView train, std::int64_t first, const Heartbeat& heartbeat) {
  const std::int64_t V = vocab_size(), T = block_size(), count = (train.size() - 1 - first) / T,
                     at_once = std::max<std::int64_t>(1, std::min<std::int64_t>(4096, (16 << 20) / V) / T);
  if (count == 0) return;
  WeightLearner learner(weights_);
  std::vector<float> rows;
  std::vector<std::int64_t> starts, targets;
  for (std::int64_t done = 0; done < count; done += std::ssize(starts)) {
    if (heartbeat) heartbeat(static_cast<double>(done) / static_cast<double>(count));
    starts.clear();
    for (std::int64_t i = done; i < std::min(count, done + at_once); ++i) starts.push_back(first + i * T);
    const WindowBatch windows{.tokens = train, .starts = starts, .T = T};
    rows.resize(static_cast<std::size_t>(windows.numel() * V));
    targets.resize(static_cast<std::size_t>(windows.numel()));
    network_.logits(windows, rows);
    windows.copy_targets(targets.data());
    for (std::int64_t window = 0; window < windows.B(); ++window)
      for_each_place(windows, window, rows, [&](const Counts::State& state, std::int64_t t, std::span<float> row) {
        counts_.log_probabilities(state, room_);
        learner.see(row, room_, static_cast<std::size_t>(targets[static_cast<std::size_t>(window * T + t)]));
      });
  }
  // The network knows this text from its training, and is overrated here. That half is nearly best for any network that
  // is at least as good as the counts was measured: see README.md.
  if (weights_.network > 0.5) weights_ = {};
  learning_.tokens = count * T;
  learning_.network_loss = learner.mean_loss_of_network();
  learning_.mixture_loss = learner.mean_loss();
}

/// body(state of the counts, t, row) for every position t of a window, of whose rows (B, T, V) its own is the one.
template <class Body>
void Mixture::for_each_place(const WindowBatch& windows, std::int64_t window, std::span<float> rows,
                             const Body& body) const {
  const auto V = static_cast<std::size_t>(vocab_size());
  const std::int64_t start = windows.starts[static_cast<std::size_t>(window)],
                     before = std::min<std::int64_t>(start, Counts::orders - 2);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(before + windows.T));
  windows.tokens.copy(start - before, std::ssize(ids), ids.data());
  Counts::State state = counts_.state_of(std::span(ids).first(static_cast<std::size_t>(before)));
  for (std::int64_t t = 0; t < windows.T; ++t) {
    state = counts_.advanced(state, ids[static_cast<std::size_t>(before + t)]);
    body(state, t, rows.subspan(static_cast<std::size_t>(window * windows.T + t) * V, V));
  }
}

/// The network's logits (V) become the mixture's.
void Mixture::mix(const Counts::State& state, std::span<float> logits, std::span<float> room) const {
  counts_.log_probabilities(state, room);
  const auto of_network = static_cast<float>(weights_.network), of_counts = static_cast<float>(weights_.counts);
  for (std::size_t v = 0; v < logits.size(); ++v) logits[v] = of_network * logits[v] + of_counts * room[v];
}

void Mixture::logits(const WindowBatch& windows, std::span<float> logits) {
  network_.logits(windows, logits);
  const int threads = network_.threads();
  cpu::on_threads(threads, [&](int thread) {
    std::vector<float> room(room_.size());
    for (std::int64_t window = thread; window < windows.B(); window += threads)
      for_each_place(windows, window, logits,
                     [&](const Counts::State& state, std::int64_t, std::span<float> row) { mix(state, row, room); });
  });
}

Predictor::Rows Mixture::mixed(const Rows& rows) {
  float* row = rows.first;
  for (const Counts::State& state : states_) {
    mix(state, {row, room_.size()}, room_);
    row += rows.stride;
  }
  return rows;
}

Predictor::Rows Mixture::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  states_.assign(static_cast<std::size_t>(sequences), counts_.state_of(ids));
  return mixed(network_.start(ids, sequences));
}

Predictor::Rows Mixture::advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    states_[i] = counts_.advanced(states_[static_cast<std::size_t>(rows[i])], ids[i]);
  states_.resize(rows.size());
  return mixed(network_.advance(rows, ids));
}

}  // namespace chargpt
