#include "evaluate/adaptation_choice.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "evaluate/split_loss.h"
#include "kernels/thread_team.h"

namespace chargpt {
namespace {

constexpr std::array rates = {1e-4, 2e-4, 4e-4, 8e-4};
constexpr double as_good = 1e-3;  ///< nats per token from the best loss; lower rates are favoured on this text
constexpr std::int64_t most_tokens = 50'000, least_tokens = 1'000;

}  // namespace

AdaptationChoice choose_adaptation(const InferenceModel& model, TokenView train, int threads,
                                   const Heartbeat& heartbeat) {
  const std::int64_t tokens = std::min(train.size() / 20, most_tokens);
  AdaptationChoice choice;
  if (tokens < least_tokens) return choice;
  const TokenView end = train.slice(train.size() - tokens, tokens);
  choice.tokens = tokens;
  for (const double rate : rates) choice.trials.push_back({.rate = rate});
  const auto count = static_cast<int>(rates.size()), at_once = std::clamp(threads, 1, count);
  std::atomic<bool> interrupted = false;
  cpu::on_threads(at_once, [&](int thread) {
    for (int i = thread; i < count; i += at_once) {
      AdaptationTrial& trial = choice.trials[static_cast<std::size_t>(i)];
      AdaptiveNetwork network(model, 1, {.rate = trial.rate / 2});
      trial.loss = adaptive_loss(network, end, model.block_size(), 0, [&](double part) {
                     const double done = i + part * std::min(at_once, count - i);
                     beat_on(thread, heartbeat, done / count, interrupted);
                   }).mean;
    }
  });
  const double best = std::ranges::min(choice.trials, {}, &AdaptationTrial::loss).loss;
  for (const AdaptationTrial& trial : choice.trials)  // in ascending order
    if (trial.loss <= best + as_good) choice.adaptation.rate = trial.rate;
  return choice;
}

}  // namespace chargpt
