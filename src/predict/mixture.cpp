#include "predict/mixture.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/thread_team.h"

namespace chargpt {
namespace {

using Row = MixtureWeights::Row;

constexpr std::int64_t most_counted = 10'000'000, most_learned = 100'000, least_learned = 500;
constexpr double learning_rate = 0.003;

/// 0 for 1, 1 for 2 and 3, 2 for 4 to 7, ... up to `most`.
std::size_t power_of(std::int64_t number, std::size_t most) {
  return std::min<std::size_t>(most, static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(number))) - 1);
}

constexpr std::size_t most_of_total = 3, most_of_context = 7;

/// The stretch from `from` to `to` of the whole work.
Heartbeat part_of(const Heartbeat& whole, double from, double to) {
  if (!whole) return {};
  return [&whole, from, to](double part) { whole(from + part * (to - from)); };
}

/// -log of the softmax at `target`.
double loss_of(std::span<const float> logits, std::int64_t target) {
  const float top = *std::ranges::max_element(logits);
  double total = 0;
  for (const float logit : logits) total += std::exp(double{logit} - top);
  return std::log(total) + top - logits[static_cast<std::size_t>(target)];
}

TokenView beginning(TokenView tokens) {
  return tokens.slice(0, std::min(tokens.size(), most_counted));
}

}  // namespace

MixtureWeights::MixtureWeights(float network)
    : by_match_((Counts::orders + 1) * 2 * (most_of_total + 1)), by_context_(most_of_context + 1) {
  for (std::size_t i = 0; i < by_match_.size(); ++i) {
    by_match_[i].fill(0);
    by_match_[i][i / 2 / (most_of_total + 1)] = 1 - network;
    by_match_[i][0] += network;
  }
  for (Row& row : by_context_) row.fill(0);
}

Row& MixtureWeights::by_match(const Counts::Match& match) {
  if (match.order == 0) return by_match_.front();
  const std::size_t certain = match.distinct == 1 ? 1 : 0;
  return by_match_[(static_cast<std::size_t>(match.order) * 2 + certain) * (most_of_total + 1) +
                   power_of(match.total, most_of_total)];
}

Row& MixtureWeights::by_context(std::int64_t context) {
  return by_context_[power_of(context, most_of_context)];
}

/// One place of a text: what each expert says there of every symbol, and how much it counts.
class Mixture::Place {
 public:
  Place(const Counts& counts, MixtureWeights& weights)
      : counts_(counts),
        weights_(weights),
        V_(static_cast<std::size_t>(counts.vocab_size())),
        said_(MixtureWeights::experts * V_) {}

  /// The network's logits (V) become the mixture's.
  void mix(const Counts::State& state, std::int64_t context, std::span<float> logits) {
    std::ranges::copy(logits, said_.begin());
    const Counts::Match match = counts_.log_probabilities(state, std::span(said_).subspan(V_));
    experts_ = static_cast<std::size_t>(match.order) + 1;
    rows_ = {&weights_.by_match(match), &weights_.by_context(context)};
    std::ranges::fill(logits, 0.0F);
    for (std::size_t i = 0; i < experts_; ++i) {
      const float weight = (*rows_[0])[i] + (*rows_[1])[i];
      const float* const said = said_.data() + i * V_;
      for (std::size_t v = 0; v < V_; ++v) logits[v] += weight * said[v];
    }
  }

  /// After mix(), whose logits are used up: the weights go a step towards what came. The loss before it.
  double learn(std::span<float> mixed, std::int64_t came) {
    const auto target = static_cast<std::size_t>(came);
    const float top = *std::ranges::max_element(mixed), of_target = mixed[target];
    double total = 0;
    for (float& logit : mixed) total += logit = std::exp(logit - top);
    for (std::size_t i = 0; i < experts_; ++i) {
      const float* const said = said_.data() + i * V_;
      double expected = 0;
      for (std::size_t v = 0; v < V_; ++v) expected += double{mixed[v]} * said[v];
      const auto step = static_cast<float>(learning_rate * (said[target] - expected / total));
      for (Row* const row : rows_) (*row)[i] += step;
    }
    return std::log(total) + top - of_target;
  }

 private:
  const Counts& counts_;
  MixtureWeights& weights_;
  std::size_t V_, experts_ = 0;
  std::vector<float> said_;  ///< (experts, V)
  std::array<Row*, 2> rows_{};
};

Mixture::Mixture(NetworkPredictor& network, Counts counts, MixtureWeights weights)
    : network_(network), counts_(std::move(counts)), weights_(std::move(weights)) {}

Mixture::~Mixture() = default;

Mixture::Mixture(NetworkPredictor& network, TokenView train, const Heartbeat& heartbeat)
    : Mixture(network, Counts({}, network.vocab_size()), MixtureWeights(0.6F)) {
  const std::int64_t V = vocab_size(), tokens = std::min(train.size() / 20, most_learned);
  const TokenView before = beginning(train.slice(0, train.size() - tokens)), all = beginning(train);
  const bool learns = tokens >= least_learned;
  if (learns) {
    counts_ = Counts({before}, V, part_of(heartbeat, 0, 0.3));
    learn(train, train.size() - tokens, part_of(heartbeat, 0.3, 0.7));
  }
  if (!learns || all.size() > before.size()) counts_ = Counts({all}, V, part_of(heartbeat, 0.7, 1));
  learning_.counted = all.size();
}

/// Whole windows from `first` on, one after the other.
void Mixture::learn(TokenView train, std::int64_t first, const Heartbeat& heartbeat) {
  const std::int64_t V = vocab_size(), T = block_size(), count = (train.size() - 1 - first) / T,
                     at_once = std::max<std::int64_t>(1, std::min<std::int64_t>(4096, (16 << 20) / V) / T);
  std::vector<float> rows;
  std::vector<std::int64_t> starts, targets;
  Place place(counts_, weights_);
  for (std::int64_t done = 0; done < count; done += std::ssize(starts)) {
    starts.clear();
    for (std::int64_t i = done; i < std::min(count, done + at_once); ++i) starts.push_back(first + i * T);
    const WindowBatch windows{.tokens = train, .starts = starts, .T = T};
    rows.resize(static_cast<std::size_t>(windows.numel() * V));
    targets.resize(static_cast<std::size_t>(windows.numel()));
    network_.logits(windows, rows);
    windows.copy_targets(targets.data());
    for (std::int64_t window = 0; window < windows.B(); ++window)
      for_each_place(windows, window, rows, [&](const Counts::State& state, std::int64_t t, std::span<float> row) {
        const std::int64_t target = targets[static_cast<std::size_t>(window * T + t)];
        learning_.network_loss += loss_of(row, target);
        place.mix(state, t + 1, row);
        learning_.mixture_loss += place.learn(row, target);
      });
    if (heartbeat) heartbeat(static_cast<double>(done) / static_cast<double>(count));
  }
  if (count == 0) return;
  learning_.tokens = count * T;
  learning_.network_loss /= static_cast<double>(learning_.tokens);
  learning_.mixture_loss /= static_cast<double>(learning_.tokens);
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

void Mixture::logits(const WindowBatch& windows, std::span<float> logits) {
  network_.logits(windows, logits);
  const int threads = network_.threads();
  cpu::on_threads(threads, [&](int thread) {
    Place place(counts_, weights_);
    for (std::int64_t window = thread; window < windows.B(); window += threads)
      for_each_place(windows, window, logits, [&](const Counts::State& state, std::int64_t t, std::span<float> row) {
        place.mix(state, t + 1, row);
      });
  });
}

Predictor::Rows Mixture::mixed(const Rows& rows) {
  if (!place_) place_ = std::make_unique<Place>(counts_, weights_);
  for (std::size_t i = 0; i < states_.size(); ++i)
    place_->mix(states_[i], network_.context(),
                {rows.first + static_cast<std::int64_t>(i) * rows.stride, static_cast<std::size_t>(vocab_size())});
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
