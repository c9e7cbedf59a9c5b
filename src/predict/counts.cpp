#include "predict/counts.h"

#include <algorithm>

namespace chargpt {
namespace {

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
constexpr std::int64_t match_places = 1 << 20, follower_places = 1 << 16, map_contexts = 1 << 16;
constexpr double first_weight = 0.25, mixer_rate = 0.0015, average_rate = 0.002, map_weight = 0.25;
constexpr std::int64_t entries_per_token = 12, most_entries = entries_per_token * Counts::most_kept;
constexpr std::uint8_t most_bits = 250;
constexpr double most_of_history = 1000, most_of_match = 500;

constexpr std::uint64_t joined_hash(std::uint64_t first, std::uint64_t second) {
  return mixed_bits(first * odd + second);
}

std::uint64_t hash_of(const std::array<std::int64_t, Counts::orders>& recent) {
  std::uint64_t hash = 0;
  for (const std::int64_t id : recent) hash = joined_hash(hash, static_cast<std::uint64_t>(id + 1));
  return hash;
}

std::size_t follower_place(const Counts::History& history) {
  return joined_hash(static_cast<std::uint64_t>(history.recent[0] + 1),
                     static_cast<std::uint64_t>(history.recent[1] + 1)) %
         follower_places;
}

constexpr std::size_t stretched_steps = 4096;
std::vector<double> stretched_logits() {
  std::vector<double> logits(stretched_steps);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = stretch((static_cast<double>(i) + 0.5) / stretched_steps);
  return logits;
}

/// Maps symbols to the letters of words: letters folded to lower case, apostrophes, and everything outside ASCII; 0 for
/// characters between words.
std::vector<std::uint32_t> letters_of(const Vocabulary& vocabulary) {
  std::vector<std::uint32_t> letters(static_cast<std::size_t>(vocabulary.size()));
  for (std::size_t id = 0; id < letters.size(); ++id) {
    const auto symbol = static_cast<std::int64_t>(id);
    const char32_t code = symbol == vocabulary.document() ? 0 : vocabulary.code_point(symbol);
    const bool capital = code >= 'A' && code <= 'Z', small = code >= 'a' && code <= 'z';
    if (capital || small || code == '\'' || code >= 0x80) letters[id] = capital ? code - 'A' + 'a' : code;
  }
  return letters;
}

std::array<std::int64_t, Mixer::sets> mixer_sizes(const SymbolTree& tree) {
  return {std::max<std::int64_t>(1, tree.nodes()), Counts::match_classes, tree.symbols() + 1,
          4 * (static_cast<std::int64_t>(Counts::orders) + 1), 243};
}

}  // namespace

std::vector<std::int64_t> frequencies_of(TokenView tokens, std::int64_t vocab_size) {
  std::vector<std::int64_t> frequencies(static_cast<std::size_t>(vocab_size));
  for (std::int64_t i = 0; i < tokens.size(); ++i) ++frequencies[static_cast<std::size_t>(tokens[i])];
  return frequencies;
}

Counts::Counts(const Vocabulary& vocabulary, std::span<const std::int64_t> frequencies, std::int64_t tokens)
    : tree_(frequencies),
      letters_(letters_of(vocabulary)),
      line_end_(vocabulary.id_of('\n')),
      document_(vocabulary.document()),
      stretched_(stretched_logits()),
      table_(std::clamp<std::int64_t>(tokens * entries_per_token, 1 << 12, most_entries)),
      mixer_(mixer_sizes(tree_), std::vector<double>(inputs, first_weight), {mixer_rate, average_rate}),
      maps_{ProbabilityMap(map_contexts), ProbabilityMap(map_contexts)},
      last_place_(match_places, -1),
      followers_(follower_places) {
  for (std::vector<Estimate>& estimates : of_history_)
    for (const BitHistories::State& state : histories_.states())
      estimates.push_back({(state.ones + 0.4) / (state.zeros + state.ones + 0.8), 0});
  of_match_.fill({0.75, 0});
  text_.reserve(static_cast<std::size_t>(tokens));
}

// ---- contexts

void Counts::find_match(History& history) const {
  history.match = history.matched = 0;
  if (history.recent.back() >= 0) history.match = last_place_[hash_of(history.recent) % match_places];
  const auto counted = std::ssize(text_);
  bool same = history.match >= std::ssize(history.recent) && history.match < counted;
  for (std::size_t i = 0; same && i < history.recent.size(); ++i)
    same = text_[static_cast<std::size_t>(history.match) - 1 - i] == history.recent[i];
  history.matched = same ? std::ssize(history.recent) : 0;
  if (!same) history.match = -1;
}

void Counts::advance(History& history, std::int64_t id) const {
  if (id == document_) {
    history = {};
    return;
  }
  std::shift_right(history.recent.begin(), history.recent.end(), 1);
  history.recent[0] = id;
  const std::uint32_t letter = letters_[static_cast<std::size_t>(id)];
  if (letter != 0) {
    history.word = joined_hash(history.word, letter);
  } else if (history.word != 0) {
    history.word_before = history.previous_word;
    history.previous_word = history.word;
    history.word = 0;
  }
  history.column = id == line_end_ ? 0 : std::min(history.column + 1, reach - 1);
  const bool goes_on = history.match >= 0 && text_[static_cast<std::size_t>(history.match)] == id &&
                       history.match + 1 < std::ssize(text_);
  if (!goes_on) return find_match(history);
  ++history.match;
  ++history.matched;
}

Counts::History Counts::history_of(std::span<const std::int64_t> ids) const {
  History history;
  for (const std::int64_t id : ids.last(std::min<std::size_t>(ids.size(), reach))) advance(history, id);
  return history;
}

Counts::Place Counts::place_of(const History& history) const {
  Place place{};
  std::size_t n = 0;
  std::uint64_t hash = 0;
  place.keys[n++] = hash;
  for (const std::int64_t id : history.recent)
    place.keys[n++] = hash = joined_hash(hash, static_cast<std::uint64_t>(id + 1));
  const auto last = static_cast<std::uint64_t>(history.recent[0] + 1);
  const std::uint64_t word = history.word != 0 ? history.word : last;  // between words: the character there
  place.keys[n++] = word;
  place.keys[n++] = joined_hash(word, history.previous_word);
  place.keys[n++] = joined_hash(word, history.word_before);
  place.keys[n++] = joined_hash(last, static_cast<std::uint64_t>(history.column));
  place.keys[n++] = joined_hash(place.keys[2], followers_[follower_place(history)]);
  for (std::size_t i = 0; i < n; ++i) place.keys[i] = joined_hash(place.keys[i], i + 1);
  place.last = history.recent[0];
  place.expected = -1;
  if (history.match >= 0) place.expected = text_[static_cast<std::size_t>(history.match)];
  place.matched = std::min<std::int64_t>(history.matched, longest_match - 1);
  return place;
}

std::int64_t Counts::match_class(const Place& place) {
  if (place.expected < 0) return 0;
  return std::min<std::int64_t>(match_classes - 1, 1 + (place.matched - static_cast<std::int64_t>(orders)) / 2);
}

// ---- decisions

/// Computes the logits to mix, and selects the weights.
void Counts::read_contexts(const Place& place, Known known, Decision& decision) const {
  std::size_t n = 0;
  std::int64_t longest = 0, bits_of_longest = 0, pattern = 0;
  decision.known = 0;
  for (std::size_t context = 0; context < contexts; ++context) {
    const std::int64_t found = (known >> context & 1) != 0 ? table_.find(decision.keys[context]) : -1;
    decision.seen[context] = found;
    int kind = 0;  // 0 not seen, 1 both bits seen, 2 only one of them
    double by_history = 0, by_p = 0;
    if (found >= 0 && table_[found].bits > 0) {
      const ContextTable::Seen& seen = table_[found];
      decision.known |= Known{1} << context;
      by_history = stretched_[static_cast<std::size_t>(of_history_[context][seen.history].p * stretched_steps)];
      by_p = stretched_[seen.p >> 4];
      const BitHistories::State& state = histories_.states()[seen.history];
      kind = state.zeros > 0 && state.ones > 0 ? 1 : 2;
      if (context <= orders)
        longest = static_cast<std::int64_t>(context), bits_of_longest = std::min<int>(3, seen.bits);
    }
    if (context >= 2 && context <= orders) pattern = 3 * pattern + kind;
    decision.logits[n++] = by_history;
    decision.logits[n++] = by_p;
  }
  const Estimate& match = of_match_[static_cast<std::size_t>(place.matched)];
  const int sign = decision.expected < 0 ? 0 : 2 * decision.expected - 1;
  decision.logits[n++] = sign * stretch(match.p);
  decision.logits[n++] = sign * (2 * match.p - 1);
  decision.logits[n++] = 0.3;  // a bias
  decision.chosen = {decision.node, decision.expected < 0 ? 0 : match_class(place), place.last + 1,
                     4 * longest + bits_of_longest, pattern};
}

void Counts::decide(const Place& place, std::int32_t node, Known known, Decision& decision) const {
  decision.node = node;
  for (std::size_t context = 0; context < contexts; ++context) {
    if ((known >> context & 1) == 0) continue;
    decision.keys[context] = joined_hash(place.keys[context], static_cast<std::uint64_t>(node));
    table_.fetch(decision.keys[context]);
  }
  const std::array<std::int64_t, 2> mapped = {
      ((place.last + 1) * tree_.nodes() + node) % map_contexts,
      static_cast<std::int64_t>(joined_hash(place.keys[2], static_cast<std::uint64_t>(node)) % map_contexts)};
  for (std::size_t i = 0; i < maps_.size(); ++i) maps_[i].fetch(mapped[i]);
  decision.expected = -1;
  if (place.expected >= 0)
    for (const SymbolTree::Step step : tree_.path(place.expected)) {  // node numbers fall along a path
      if (step.node > node) continue;
      if (step.node == node) decision.expected = step.bit;
      break;
    }
  read_contexts(place, known, decision);
  decision.mixed = mixer_.mix(decision.logits, decision.chosen);
  const double logit = decision.mixed.logit;
  decision.points = {maps_[0].point(mapped[0], logit), maps_[1].point(mapped[1], logit)};
  const double p = (1 - 2 * map_weight) * squash(logit) +
                   map_weight * (maps_[0].at(decision.points[0]) + maps_[1].at(decision.points[1]));
  decision.p = std::clamp(p, 1e-6, 1 - 1e-6);
}

// ---- learning

void Counts::learn(const Place& place, const Decision& decision, bool bit) {
  const auto towards = [](Estimate& estimate, bool came, double most, double least, double largest) {
    estimate.seen = std::min(estimate.seen + 1, most);
    estimate.p = std::clamp(estimate.p + (came - estimate.p) / (estimate.seen + 1.5), least, largest);
  };
  mixer_.learn(decision.logits, decision.chosen, decision.mixed, bit);
  for (std::size_t i = 0; i < maps_.size(); ++i) maps_[i].learn(decision.points[i], bit);
  for (std::size_t context = 0; context < contexts; ++context) {
    std::int64_t found = decision.seen[context];
    if (found < 0)
      found = table_.find_or_add(joined_hash(place.keys[context], static_cast<std::uint64_t>(decision.node)));
    ContextTable::Seen& seen = table_[found];
    towards(of_history_[context][seen.history], bit, most_of_history, 1e-4, 1 - 1e-4);
    seen.history = histories_.next(seen.history, bit);
    seen.p = static_cast<std::uint16_t>(seen.p +
                                        static_cast<int>((bit ? 65535 - seen.p : -int{seen.p}) / (seen.bits + 1.6)));
    seen.bits = std::min<std::uint8_t>(most_bits, seen.bits + 1);
  }
  if (decision.expected >= 0)
    towards(of_match_[static_cast<std::size_t>(place.matched)], decision.expected == int{bit}, most_of_match, 0.02,
            0.9998);
}

void Counts::count(History& history, std::int64_t id) {
  std::uint64_t& followers = followers_[follower_place(history)];
  followers = followers << 32 | static_cast<std::uint64_t>(id + 1);
  advance(history, id);
  text_.push_back(static_cast<std::uint32_t>(id));
  if (history.recent.back() >= 0) last_place_[hash_of(history.recent) % match_places] = std::ssize(text_);
}

void Counts::learn(TokenView tokens, History& history, const Heartbeat& heartbeat) {
  Decision decision;
  for (std::int64_t i = 0; i < tokens.size(); ++i) {
    if (i % 4096 == 0) beat(heartbeat, i, tokens.size());
    const Place place = place_of(history);
    decision.known = all_known;
    for (const SymbolTree::Step step : tree_.path(tokens[i])) {
      decide(place, step.node, decision.known, decision);
      learn(place, decision, step.bit);
    }
    count(history, tokens[i]);
  }
}

}  // namespace chargpt
