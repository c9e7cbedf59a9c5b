#include "predict/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chargpt {

std::int64_t Ensemble::block_size() const {
  return (*std::ranges::min_element(members_, {}, &Predictor::block_size))->block_size();
}

std::int64_t Ensemble::at_once() const {
  const std::int64_t fewest = (*std::ranges::min_element(members_, {}, &Predictor::at_once))->at_once();
  return std::max<std::int64_t>(1, fewest / std::ssize(members_));
}

// ---- means

/// mean += softmax(logits) / number of members, both (V).
void Ensemble::add(const float* logits, double* mean) const {
  const std::int64_t V = vocab_size();
  const float top = *std::max_element(logits, logits + V);
  double total = 0;
  for (std::int64_t v = 0; v < V; ++v) total += std::exp(double{logits[v]} - top);
  total *= static_cast<double>(members_.size());
  for (std::int64_t v = 0; v < V; ++v) mean[v] += std::exp(double{logits[v]} - top) / total;
}

/// Calls ask(member, losses), which computes the member's losses.
template <class Ask>
void Ensemble::ask_for_losses(std::span<float> losses, const Ask& ask) {
  rows_.resize(members_.size() * losses.size());
  for (std::size_t i = 0; i < members_.size(); ++i)
    ask(*members_[i], std::span(rows_).subspan(i * losses.size(), losses.size()));
  mean_of_losses(rows_, losses);
}

/// Calls ask(member), which returns the member's logits, possibly in `logits`; at the end `logits` (rows, V) contains
/// the logarithms of the mean probabilities.
template <class Ask>
Predictor::Rows Ensemble::ask_for_logits(std::span<float> logits, const Ask& ask) {
  const std::int64_t V = vocab_size();
  mean_.assign(logits.size(), 0);
  for (Predictor* member : members_) {
    const Rows rows = ask(*member);
    for (std::int64_t row = 0; row * V < std::ssize(mean_); ++row)
      add(rows.first + row * rows.stride, mean_.data() + row * V);
  }
  std::ranges::transform(mean_, logits.begin(), [](double p) {  // finite, even if p underflows
    return static_cast<float>(std::log(std::max(p, std::numeric_limits<double>::min())));
  });
  return {logits.data(), V};
}

// ---- sequences

Predictor::Rows Ensemble::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  rows_.resize(static_cast<std::size_t>(sequences * vocab_size()));
  return ask_for_logits(rows_, [&](Predictor& member) { return member.start(ids, sequences); });
}

Predictor::Rows Ensemble::advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) {
  rows_.resize(rows.size() * static_cast<std::size_t>(vocab_size()));
  return ask_for_logits(rows_, [&](Predictor& member) { return member.advance(rows, ids); });
}

// ---- windows

void Ensemble::logits(const WindowBatch& windows, std::span<float> logits) {
  ask_for_logits(logits, [&](Predictor& member) {
    member.logits(windows, logits);
    return Rows{logits.data(), vocab_size()};
  });
}

void Ensemble::score(const WindowBatch& windows, std::span<float> losses) {
  ask_for_losses(losses, [&](Predictor& member, std::span<float> own) { member.score(windows, own); });
}

void Ensemble::score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses) {
  ask_for_losses(losses, [&](Predictor& member, std::span<float> own) { member.score_and_learn(tokens, window, own); });
}

void Ensemble::logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits) {
  ask_for_logits(logits, [&](Predictor& member) {
    member.logits_and_learn(tokens, window, logits);
    return Rows{logits.data(), vocab_size()};
  });
}

// ---- losses

/// Subtracts the smallest loss first, so that the sum does not underflow.
void mean_of_losses(std::span<const float> of_members, std::span<float> losses) {
  const std::size_t count = losses.size(), members = of_members.size() / std::max<std::size_t>(1, count);
  for (std::size_t t = 0; t < count; ++t) {
    float least = of_members[t];
    for (std::size_t i = 1; i < members; ++i) least = std::min(least, of_members[i * count + t]);
    double sum = 0;
    for (std::size_t i = 0; i < members; ++i) sum += std::exp(double{least} - double{of_members[i * count + t]});
    losses[t] = static_cast<float>(least - std::log(sum / static_cast<double>(members)));
  }
}

}  // namespace chargpt
