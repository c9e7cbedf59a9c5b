// What several processes add to a step and to an evaluation: their parts are summed, so that each has the whole. Knows
// no run and no transport.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "ranks/communicator.h"

namespace chargpt {

/// Parts of the gradients, in the arena, become the whole, the same bits on every rank. Returns what the whole step's
/// are.
Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part);

/// Error data, the same line on every rank, where one has another sum than rank 0: "rank 1 " + `difference`.
void check_same(Communicator& ranks, std::uint64_t sum, const std::string& difference);

/// Scores windows that every rank is given, each a part of them: all have all losses, with the bits of one process.
class SharedScorer : public WindowScorer {
 public:
  SharedScorer(WindowScorer& own, Communicator& ranks) : own_(own), ranks_(ranks) {}
  void score(const WindowBatch& windows, std::span<float> losses) override;

 private:
  WindowScorer& own_;
  Communicator& ranks_;
};

}  // namespace chargpt
