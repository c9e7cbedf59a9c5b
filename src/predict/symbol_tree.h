// A symbol told by decisions of one bit each: a binary tree whose leaves are the symbols, frequent ones near its root.
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

  /// Of at least one symbol. Equal frequencies are told apart by the symbols' ids.
  explicit SymbolTree(std::span<const std::int64_t> frequencies);

  std::int64_t symbols() const { return std::ssize(paths_); }
  /// symbols() - 1; the root is the last.
  std::int64_t nodes() const { return std::ssize(children_); }
  /// From the root to a symbol.
  std::span<const Step> path(std::int64_t symbol) const { return paths_[static_cast<std::size_t>(symbol)]; }

  /// Of each node (nodes()), the probability that its bit is 1, given probabilities of symbols that are above 0.
  void split(std::span<const double> of_symbols, std::span<double> of_bits) const;
  /// The other way: of each symbol. bit_is_one(node, reached, from) is asked from the root down, with the probability
  /// of reaching the node, and what it left in `from` of the node before (at the root: `from_root`).
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
  std::vector<std::array<std::int32_t, 2>> children_;  ///< by bit: a node before this one, or ~symbol
  std::vector<std::vector<Step>> paths_;
};

}  // namespace chargpt
