#include "optimizer/averages.h"

#include <algorithm>

#include "kernels/kernels.h"
#include "optimizer/optimizer.h"

namespace chargpt {
namespace {

std::string averaged_path(const Checkpoint& checkpoint) {
  return (checkpoint.path / "averaged.safetensors").string();
}

}  // namespace

void start_averages(ParameterArena& arena) {
  for (ParameterGroup& group : arena.groups()) group.averages = group.values.copy();
}

bool has_averages(const ParameterArena& arena) {
  return std::ranges::any_of(arena.groups(), [](const ParameterGroup& group) { return !group.averages.empty(); });
}

double fresh_part(const ParameterArena& arena, double decay) {
  const auto updates = static_cast<double>(arena.updates());
  return 1 - std::min(decay, (1 + updates) / (10 + updates));
}

void follow_averages(ParameterArena& arena, double decay) {
  const auto fresh = static_cast<float>(fresh_part(arena, decay));
  for (ParameterGroup& group : arena.groups()) {
    if (group.averages.empty()) continue;
    on_parts(group.size(), [&](std::int64_t begin, std::int64_t end) {
      cpu::kernels().lerp(fresh, end - begin, group.values.data() + begin, group.averages.data() + begin);
    });
  }
}

bool load_averages(ParameterArena& arena, const Checkpoint& checkpoint) {
  if (!has_averages(arena)) return true;
  if (checkpoint.averaged)
    arena.load_averages(*checkpoint.averaged, averaged_path(checkpoint));
  else
    start_averages(arena);
  return checkpoint.averaged != nullptr;
}

void swap_averages(ParameterArena& arena) {
  for (ParameterGroup& group : arena.groups())
    if (!group.averages.empty()) std::ranges::swap_ranges(group.values.all(), group.averages.all());
}

}  // namespace chargpt
