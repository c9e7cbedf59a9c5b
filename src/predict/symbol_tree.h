// A symbol as a sequence of binary decisions: a binary tree with the symbols as leaves, frequent ones near its root.
// Source: Huffman, "A method for the construction of minimum-redundancy codes" (1952).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace chargpt {

class SymbolTree {
 public:
  struct Step {
    std::int32_t node;
    bool bit;
  };

  /// Builds the tree for at least one symbol. Ties between frequencies are broken by the symbols' ids.
  explicit SymbolTree(std::span<const std::int64_t> frequencies);

  /// Number of inner nodes, one less than symbols; the root is the last one.
  std::int64_t nodes() const { return std::ssize(children_); }
  /// The decisions from the root to a symbol.
  std::span<const Step> path(std::int64_t symbol) const { return paths_[static_cast<std::size_t>(symbol)]; }

  /// Converts probabilities of symbols, all above 0, to the probability of each node (nodes()) that its bit is 1.
  void split(std::span<const double> of_symbols, std::span<double> of_bits) const;
  /// The inverse of split(). Calls bit_is_one(node, reached, from) from the root down, with the probability of reaching
  /// the node and a value that the call for the parent left in `from` (`from_root` at the root).
  template <class From, class BitIsOne>
  void join(std::span<double> of_symbols, From from_root, const BitIsOne& bit_is_one) const {
    std::vector<std::pair<double, From>> reached(children_.size() + 1, {1, from_root});
    if (children_.empty()) of_symbols[0] = 1;
    for (std::size_t node = children_.size(); node-- > 0;) {
      auto [all, from] = reached[node];
      const double one = bit_is_one(static_cast<std::int32_t>(node), all, from);
      for (std::size_t bit = 0; bit < 2; ++bit) {
        const std::int32_t child = children_[node][bit];
        const double p = all * (bit == 1 ? one : 1 - one);
        if (is_symbol(child))
          of_symbols[symbol_of(child)] = p;
        else
          reached[static_cast<std::size_t>(child)] = {p, from};
      }
    }
  }

 private:
  static bool is_symbol(std::int32_t child) { return child < 0; }
  static std::size_t symbol_of(std::int32_t child) { return static_cast<std::size_t>(~child); }
  std::vector<std::array<std::int32_t, 2>> children_;  ///< by bit: a node with a smaller index, or ~symbol
  std::vector<std::vector<Step>> paths_;
};

}  // namespace chargpt
