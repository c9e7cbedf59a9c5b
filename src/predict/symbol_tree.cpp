#include "predict/symbol_tree.h"

#include <functional>
#include <queue>
#include <tuple>

namespace chargpt {

SymbolTree::SymbolTree(std::span<const std::int64_t> frequencies) : paths_(frequencies.size()) {
  using Part = std::tuple<std::int64_t, std::int64_t, std::int32_t>;  // frequency, order of creation, child
  std::priority_queue<Part, std::vector<Part>, std::greater<>> parts;
  std::int64_t made = 0;
  for (const std::int64_t frequency : frequencies) {
    parts.emplace(frequency, made, ~static_cast<std::int32_t>(made));
    ++made;
  }
  while (parts.size() > 1) {
    const auto [zeros, ignored, zero] = parts.top();
    parts.pop();
    const auto [ones, ignored_too, one] = parts.top();
    parts.pop();
    children_.push_back({zero, one});
    parts.emplace(zeros + ones, made++, static_cast<std::int32_t>(children_.size()) - 1);
  }
  std::vector<std::vector<Step>> to_node(children_.size());
  for (std::size_t node = children_.size(); node-- > 0;)
    for (std::size_t bit = 0; bit < 2; ++bit) {
      const std::int32_t child = children_[node][bit];
      std::vector<Step>& path = is_symbol(child) ? paths_[symbol_of(child)] : to_node[static_cast<std::size_t>(child)];
      path = to_node[node];
      path.push_back({static_cast<std::int32_t>(node), bit == 1});
    }
}

void SymbolTree::split(std::span<const double> of_symbols, std::span<double> of_bits) const {
  // First computes the sum of each subtree, children before parents; then the share of bit 1 at each node.
  const auto sum = [&](std::int32_t child) {
    return is_symbol(child) ? of_symbols[symbol_of(child)] : of_bits[static_cast<std::size_t>(child)];
  };
  for (std::size_t node = 0; node < children_.size(); ++node)
    of_bits[node] = sum(children_[node][0]) + sum(children_[node][1]);
  for (std::size_t node = children_.size(); node-- > 0;) of_bits[node] = sum(children_[node][1]) / of_bits[node];
}

}  // namespace chargpt
