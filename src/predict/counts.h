// Predicts the next symbol from counts in contexts of a text. A symbol is a sequence of binary decisions (SymbolTree).
// At each decision 19 contexts (the last 0 to 6 symbols, words, kinds of symbols, lines, the first lines of
// paragraphs) and the longest match of 6 symbols or more in the counted text give predictions, which a mixer weighs.
// Each symbol is predicted, then counted. Source: context mixing, Mahoney (2005, PAQ; lpaq); see README.md. Independent
// of networks.
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
  static constexpr std::size_t orders = 6, contexts = orders + 13, inputs = 3 * contexts + 3;

  /// Number of symbols that a history depends on; words are shorter.
  static constexpr std::int64_t reach = 1024;

  /// The end of a text, which selects the contexts. Empty at the start of a document.
  struct History {
    std::array<std::int64_t, orders> recent;                     ///< the last symbol first; -1: before the text
    std::uint64_t word = 0, previous_word = 0, word_before = 0;  ///< hashes; 0: empty; `word` is the current word
    std::int64_t word_length = 0, word_begin = 0;                ///< of the current word: letters, first symbol
    std::uint64_t kinds = 0;  ///< of the last symbols, three bits each; equal letters in a row count once
    std::uint64_t line = 0;   ///< hash of the line up to here
    std::int64_t column = 0, above = 0, length = 0;  ///< symbols of this line, of the line above, and of the text
    /// The first line of a paragraph, which follows an empty line.
    struct Heading {
      std::uint64_t hash = 0;  ///< 0: the line has not ended
      std::int64_t begin = -reach;
    };
    std::array<Heading, 3> headings;  ///< the current paragraph's first
    /// Index in the counted text of the symbol that should follow (-1: no match), and the length of the match.
    std::int64_t match = -1, matched = 0;
    History() { recent.fill(-1); }
  };
  /// The contexts of the next symbol.
  struct Place {
    std::array<std::uint64_t, contexts> keys;
    /// For each context the last symbol that came there (-1: none) and how often in a row, at most longest_run.
    std::array<std::int64_t, contexts> followed, times;
    std::int64_t last, expected;         ///< symbols; -1: unknown
    std::int64_t matched;                ///< as in the history, but less than longest_match
    std::uint64_t kinds, begun, placed;  ///< select weights: kinds of symbols, begin of the word, place in the line
  };
  /// A set of contexts, one bit each. A context that did not see a decision did not see the decisions after it.
  using Known = std::uint32_t;
  static constexpr Known all_known = (Known{1} << contexts) - 1;
  /// The prediction of the counts for one decision.
  struct Decision {
    std::int32_t node;
    Known known;
    std::array<std::uint64_t, contexts> keys;  ///< hashes of context and decision
    std::array<std::int64_t, contexts> seen;   ///< indices in the table; -1: not seen
    std::array<int, contexts> followed;        ///< the bit that the last symbol predicts; -1: unknown
    std::array<std::size_t, contexts> runs;    ///< index in of_run_, if that bit is known
    std::array<double, inputs> logits;         ///< inputs of the mixer
    Mixer::Chosen chosen;
    Mixer::Mixed mixed;
    int expected;  ///< the bit that the match predicts; -1: unknown
    std::array<ProbabilityMap::Point, 2> points;
    double p;  ///< probability that the bit is 1
  };

  /// About the number of counted tokens that fit in the table; beyond it, the least seen entries are replaced.
  static constexpr std::int64_t most_kept = 2'000'000;
  /// Starts empty. `frequencies`: approximate count of each symbol, for the tree; `tokens`: number of tokens to count,
  /// for the size of the tables (at most 474 bytes per token, and 218 MB).
  Counts(const Vocabulary& vocabulary, std::span<const std::int64_t> frequencies, std::int64_t tokens);

  const SymbolTree& tree() const { return tree_; }
  /// The history of a text that ends with these ids; only the last `reach` ids matter.
  History history_of(std::span<const std::int64_t> ids) const;
  void advance(History& history, std::int64_t id) const;
  Place place_of(const History& history) const;
  /// `known`: contexts that saw the previous decision; all_known at the root.
  void decide(const Place& place, std::int32_t node, Known known, Decision& decision) const;

  /// Learns the outcome of a decision.
  void learn(const Place& place, const Decision& decision, bool bit);
  /// Counts a symbol after learn() for each of its decisions.
  void count(History& history, const Place& place, std::int64_t id);
  /// Predicts and learns a text that continues `history`.
  void learn(TokenView tokens, History& history, const Heartbeat& heartbeat = {});

 private:
  static constexpr std::size_t longest_match = 32, longest_run = 31;
  struct Estimate {
    double p, seen;
  };
  /// The last symbol that followed a context, and how often in a row.
  struct Run {
    std::uint32_t symbol = 0;
    std::uint16_t check = 0, times = 0;
  };
  std::size_t run_of(std::uint64_t key) const { return static_cast<std::size_t>((key >> 32) * runs_.size() >> 32); }
  int bit_at(std::int64_t symbol, std::int32_t node) const;
  void find_match(History& history) const;
  void advance_line(History& history, std::int64_t id) const;
  void read_contexts(const Place& place, Known known, Decision& decision) const;

  SymbolTree tree_;
  // By symbol: the letter in lower case (letters, apostrophes, all beyond ASCII), 0 outside words; capital, other
  // letter, digit, space, line end, other.
  std::vector<std::uint32_t> letters_, kinds_;
  std::int64_t line_end_, document_;
  std::vector<double> stretched_;  ///< stretch((i + 0.5) / 4,096); computing logarithms would take most of the time
  BitHistories histories_;
  ContextTable table_;
  std::vector<Run> runs_;
  std::array<std::vector<Estimate>, contexts> of_history_, of_run_;  ///< indexed by state; by times and by kind
  std::array<Estimate, longest_match> of_match_;  ///< of the expected bit, indexed by the length of the match
  Mixer mixer_;
  std::array<ProbabilityMap, 2> maps_;
  std::vector<std::uint32_t> text_;       ///< the counted text
  std::vector<std::int64_t> last_place_;  ///< by hash of `orders` symbols: index after their last occurrence
  std::vector<std::uint64_t> followers_;  ///< by hash of two symbols: the last two symbols that followed them
};

/// Number of occurrences of each symbol.
std::vector<std::int64_t> frequencies_of(TokenView tokens, std::int64_t vocab_size);

}  // namespace chargpt
