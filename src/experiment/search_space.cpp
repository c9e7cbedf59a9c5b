#include "experiment/search_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/quote.h"
#include "base/random.h"
#include "config/load.h"
#include "inference/parameter_groups.h"

namespace chargpt {
namespace {

constexpr double factors_of_rates[] = {0.25, 0.5, 1, 2};
constexpr double factors_of_groups[] = {0.5, 1, 1, 2};
constexpr double factors_of_a_new_group[] = {1, 5};
constexpr double factors_of_width[] = {0.5, 0.75, 1, 1, 1.5, 2};
constexpr double factors_of_depth[] = {0.5, 1, 1, 1.5, 2};
constexpr double factors_of_batch[] = {0.5, 1, 1, 2};
constexpr std::int64_t most_candidates = 81, least_candidates = 9;
constexpr double least_seconds = 1;  ///< of a training that tells anything

/// Drawing a candidate is sampling, from a stream that no sample of text uses.
constexpr std::uint64_t stream_of_candidates = std::uint64_t{1} << 62;

std::int64_t scaled(std::int64_t value, double factor, std::int64_t multiple) {
  const auto steps = std::llround(static_cast<double>(value) * factor / static_cast<double>(multiple));
  return std::max<std::int64_t>(1, steps) * multiple;
}

/// Whether any parameter follows train.learning_rate: else changing that would change nothing.
bool follows_learning_rate(const Config& config) {
  constexpr std::int64_t any_vocabulary = 2;
  return std::ranges::any_of(groups_in_force(config, any_vocabulary),
                             [](const GroupInForce& group) { return !group.own_rate; });
}

void scale_rates(Config& config, const Candidate& candidate, const std::string& embedding_and_head) {
  TrainConfig& train = config.train;
  if (train.groups.empty() && candidate.groups != 1 && !embedding_and_head.empty())
    train.groups.emplace_back().match = embedding_and_head;
  if (follows_learning_rate(config)) {
    train.learning_rate *= candidate.rates;
    if (train.lr_schedule != LrSchedule::constant) train.min_lr *= candidate.rates;
  }
  for (GroupConfig& group : train.groups)
    if (group.learning_rate)
      *group.learning_rate *= candidate.rates * candidate.groups;
    else if (candidate.groups != 1)
      group.lr_scale = group.lr_scale.value_or(1) * candidate.groups;
}

template <std::size_t n>
double pick(const double (&values)[n], RandomStream& random) {
  return values[random.below(n)];
}

Candidate draw(const Config& config, double centre, RandomStream& random) {
  const bool grouped = !config.train.groups.empty();
  return {.rates = centre * pick(factors_of_rates, random),
          .groups = grouped ? pick(factors_of_groups, random) : pick(factors_of_a_new_group, random),
          .width = pick(factors_of_width, random),
          .depth = pick(factors_of_depth, random),
          .batch = pick(factors_of_batch, random)};
}

}  // namespace

Config apply(const Config& config, const Candidate& candidate, const std::string& embedding_and_head) {
  Config changed = config;
  ModelConfig& model = changed.model;
  scale_rates(changed, candidate, embedding_and_head);
  if (candidate.width != 1) {
    const std::int64_t multiple = model.head_size > 0 ? 2 : 2 * model.n_head;  // rotary positions want even heads
    model.n_embd = scaled(model.n_embd, candidate.width, multiple);
    if (model.mlp_size > 0) model.mlp_size = scaled(model.mlp_size, candidate.width, 1);
  }
  if (candidate.depth != 1) model.n_layer = scaled(model.n_layer, candidate.depth, 1);
  if (candidate.batch != 1) changed.train.batch_size = scaled(changed.train.batch_size, candidate.batch, 1);
  return changed;
}

std::string describe(const Candidate& candidate) {
  const std::pair<const char*, double> factors[] = {{"rates", candidate.rates},
                                                    {"rates of groups", candidate.groups},
                                                    {"width", candidate.width},
                                                    {"depth", candidate.depth},
                                                    {"batch", candidate.batch}};
  std::vector<std::string> changes;
  for (const auto& [what, factor] : factors)
    if (factor != 1) changes.push_back(what + formatted(" x %.3g", factor));
  return changes.empty() ? "as it is" : joined(changes, ", ");
}

std::vector<Candidate> draw_candidates(const Config& config, double centre, std::int64_t count, std::uint64_t seed,
                                       const std::string& embedding_and_head,
                                       const std::function<bool(const Config&)>& allowed) {
  std::vector<Candidate> candidates{{}};
  std::set<std::string> seen{to_json(config).dump()};
  const auto add = [&](const Candidate& candidate) {
    const Config changed = apply(config, candidate, embedding_and_head);
    if (seen.insert(to_json(changed).dump()).second && allowed(changed)) candidates.push_back(candidate);
  };
  if (count > 1) add({.rates = centre});
  RandomStream random(seed, Purpose::sampling, stream_of_candidates);
  for (std::int64_t tries = 50 * count; tries > 0 && std::ssize(candidates) < count; --tries)
    add(draw(config, centre, random));
  return candidates;
}

std::vector<Round> plan_rounds(double seconds, double full, double overhead) {
  const double last = std::min(full, seconds / 4);  // nine in thirds and the config itself: 9/9 + 3/3 + 1 + 1
  const auto time_of = [&](double part) { return std::max(part * last, std::min(last, least_seconds)); };
  const double first = time_of(1.0 / 9), second = time_of(1.0 / 3);
  const double of_one = (first + overhead) + (second + overhead) / 3 + (last + overhead) / 9;
  const auto room = static_cast<std::int64_t>(std::min(1e6, (seconds - last - overhead) / of_one + 1e-9));
  const std::int64_t count = std::clamp(room, least_candidates, most_candidates);
  return {{count, first}, {(count + 2) / 3, second}, {(count + 8) / 9, last}};
}

double range_factor(std::int64_t i, std::int64_t count) {
  return std::pow(10, -2 + 6 * static_cast<double>(i) / static_cast<double>(std::max<std::int64_t>(1, count - 1)));
}

double centre_of(const std::vector<RangePoint>& points) {
  constexpr double memory = 0.9;
  double sum = 0, weight = 0, lowest = std::numeric_limits<double>::infinity(), factor = 1;
  for (const RangePoint& point : points) {
    if (!std::isfinite(point.loss)) break;
    sum = memory * sum + (1 - memory) * point.loss;
    weight = memory * weight + (1 - memory);
    if (sum / weight < lowest) lowest = sum / weight, factor = point.factor;
  }
  return std::clamp(factor / 4, range_factor(0, 2), range_factor(1, 2));
}

}  // namespace chargpt
