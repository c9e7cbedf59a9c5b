// What came in contexts of a text, as a distribution of the next symbol. Each symbol is told by decisions of one bit
// (SymbolTree); at each of them a dozen contexts (the last 0 to 6 symbols, words, the column, what followed the last
// two symbols before) and a stretch of 6 symbols or more that stands in the counted text say what came before, and a
// mixer weighs what they say. Counts go on: each symbol is predicted, then counted. Source: context mixing, Mahoney
// (2005, PAQ; lpaq); README.md says what each part is worth. Knows no network.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "predict/context_table.h"
#include "predict/mixer.h"
#include "predict/symbol_tree.h"
#include "text/vocabulary.h"

namespace chargpt {

class Counts {
 public:
  static constexpr std::size_t orders = 6, contexts = orders + 6, inputs = 2 * contexts + 3;

  /// Symbols that a history is made of: lines and words are shorter.
  static constexpr std::int64_t reach = 256;

  /// The end of a text, as the contexts see it. A document begins with none.
  struct History {
    std::array<std::int64_t, orders> recent;                     ///< the last symbol first; -1: none
    std::uint64_t word = 0, previous_word = 0, word_before = 0;  ///< 0: none; of the word that has begun, if it has
    std::int64_t column = 0;
    /// The place of the counted text that ought to follow, -1: none; after how many equal symbols.
    std::int64_t match = -1, matched = 0;
    History() { recent.fill(-1); }
  };
  /// The contexts of the next symbol.
  struct Place {
    std::array<std::uint64_t, contexts> keys;
    std::int64_t last, expected;  ///< symbols; -1: none
    std::int64_t matched;         ///< as in the history, but less than longest_match
  };
  /// Contexts, one bit each: a context that did not see a decision saw none of those that follow from it.
  using Known = std::uint32_t;
  static constexpr Known all_known = (Known{1} << contexts) - 1;
  /// What the counts say of one decision.
  struct Decision {
    std::int32_t node;
    Known known;
    std::array<std::uint64_t, contexts> keys;  ///< of contexts and decision
    std::array<std::int64_t, contexts> seen;   ///< in the table
    std::array<double, inputs> logits;         ///< what is mixed
    Mixer::Chosen chosen;
    Mixer::Mixed mixed;
    int expected;  ///< the bit; -1: none
    std::array<ProbabilityMap::Point, 2> points;
    double p;  ///< that the bit is 1
  };

  /// Counted tokens that the memory has room for, about; of more, what was seen least gives way.
  static constexpr std::int64_t most_kept = 2'000'000;
  /// Of nothing yet. `frequencies`: of each symbol, roughly, for the tree; `tokens`: how many will be counted, for the
  /// size of the table, 77 bytes each and 154 MB at most.
  Counts(const Vocabulary& vocabulary, std::span<const std::int64_t> frequencies, std::int64_t tokens);

  const SymbolTree& tree() const { return tree_; }
  /// Of a text that ends with these ids; the last `reach` count.
  History history_of(std::span<const std::int64_t> ids) const;
  void advance(History& history, std::int64_t id) const;
  Place place_of(const History& history) const;
  /// `known`: contexts that saw the decision before it, all_known at the root.
  void decide(const Place& place, std::int32_t node, Known known, Decision& decision) const;
  /// From 0 on: about how much is known of the place, for those who choose weights by it.
  static std::int64_t match_class(const Place& place);
  static constexpr std::int64_t match_classes = 16;

  /// What came of a decision.
  void learn(const Place& place, const Decision& decision, bool bit);
  /// The symbol has come, and each of its decisions was learned.
  void count(History& history, std::int64_t id);
  /// Predicts and learns a text that goes on from `history`.
  void learn(TokenView tokens, History& history, const Heartbeat& heartbeat = {});

 private:
  static constexpr std::size_t longest_match = 32;
  struct Estimate {
    double p, seen;
  };
  void find_match(History& history) const;
  void read_contexts(const Place& place, Known known, Decision& decision) const;

  SymbolTree tree_;
  std::vector<std::uint32_t> letters_;  ///< by symbol: 0 outside words, else which letter, capital or small
  std::int64_t line_end_, document_;
  std::vector<double> stretched_;  ///< of (i + 0.5) / 4,096: a logarithm each time would take most of the time
  BitHistories histories_;
  ContextTable table_;
  std::array<std::vector<Estimate>, contexts> of_history_;  ///< by state
  std::array<Estimate, longest_match> of_match_;            ///< that the expected bit comes, by length
  Mixer mixer_;
  std::array<ProbabilityMap, 2> maps_;
  std::vector<std::uint32_t> text_;       ///< what was counted
  std::vector<std::int64_t> last_place_;  ///< by hash of `orders` symbols: the place after their last occurrence
  std::vector<std::uint64_t> followers_;  ///< by hash of two symbols: the last two that came after them
};

/// How often each symbol occurs.
std::vector<std::int64_t> frequencies_of(TokenView tokens, std::int64_t vocab_size);

}  // namespace chargpt
