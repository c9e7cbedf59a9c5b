// What `tune` may change of a config, and how it shares out its time. Pure functions of (config, seed); trains nothing.
//
// The space is small and stated: all learning rates together (around what the range test found), those of the groups
// against the rest, width, depth, and the windows of a batch. Everything else stays as the config has it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// One point of the space, as factors of what the config says.
struct Candidate {
  double rates = 1;   ///< every learning rate, and min_lr
  double groups = 1;  ///< besides, those of train.groups; without groups: of a new one for embedding and head
  double width = 1, depth = 1, batch = 1;
  bool operator==(const Candidate&) const = default;
};

/// `config` with the candidate's options: width in steps that its heads divide, at least one layer and one window.
/// `embedding_and_head`: what matches those parameters, for a config without groups; empty: it gets none.
Config apply(const Config& config, const Candidate& candidate, const std::string& embedding_and_head);

/// "rates x 2, width x 1.5"; "as it is" where nothing changes.
std::string describe(const Candidate& candidate);

/// `count` distinct candidates or fewer, where fewer are allowed: the config as it is, the same at the rates of the
/// range test (`centre`), then drawn by `seed`. No two make the same config, and `allowed` is asked of each but the
/// first.
std::vector<Candidate> draw_candidates(const Config& config, double centre, std::int64_t count, std::uint64_t seed,
                                       const std::string& embedding_and_head,
                                       const std::function<bool(const Config&)>& allowed);

/// Successive halving by thirds: how many candidates train for how long in each of three rounds. (Jamieson & Talwalkar
/// 2016, "Non-stochastic best arm identification and hyperparameter optimization".)
struct Round {
  std::int64_t candidates = 0;
  double seconds = 0;  ///< of training, for each
};

/// Rounds that fit into `seconds`: the last as long as `full` (the config's own time) where that leaves nine candidates
/// for the first, else as long as nine leave; the config as it is trains in the last one too. A ninth and a third of
/// that before, but not under a second, which tells nothing. At most 81 candidates; each training costs `overhead`
/// besides.
std::vector<Round> plan_rounds(double seconds, double full, double overhead);

/// The range test: where the loss, smoothed, was lowest while the rates rose, and the rates to search around: a quarter
/// of those, since at the lowest the loss is about to rise. (Smith 2017, "Cyclical learning rates for training neural
/// networks".)
struct RangePoint {
  double factor = 1, loss = 0;
};
double centre_of(const std::vector<RangePoint>& points);

/// Factor of the rates at step `i` of `count`: rising evenly in the logarithm from 1/100 to 10,000: a config far
/// too slow is found as well, and one that is not ends the test by diverging.
double range_factor(std::int64_t i, std::int64_t count);

}  // namespace chargpt
