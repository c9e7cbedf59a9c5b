#include "predict/counts.h"

#include <algorithm>

namespace chargpt {
namespace {

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
constexpr std::int64_t match_places = 1 << 20, follower_places = 1 << 16, map_contexts = 1 << 16;
constexpr std::size_t stretched_steps = 4096;
constexpr double first_weight = 0.06, mixer_rate = 0.0015, average_rate = 0.001, map_weight = 0.25;
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

}  // namespace

std::vector<std::int64_t> frequencies_of(TokenView tokens, std::int64_t vocab_size) {
  std::vector<std::int64_t> frequencies(static_cast<std::size_t>(vocab_size));
  for (std::int64_t i = 0; i < tokens.size(); ++i) ++frequencies[static_cast<std::size_t>(tokens[i])];
  return frequencies;
}

Counts::Counts(const Vocabulary& vocabulary, std::span<const std::int64_t> frequencies, std::int64_t tokens)
    : tree_(frequencies),
      line_end_(vocabulary.id_of('\n')),
      document_(vocabulary.document()),
      // Short texts have the most different contexts per token.
      table_(std::min(64 * std::max<std::int64_t>(tokens, 64), 8'000'000 + 8 * std::min(tokens, most_kept))),
      runs_(static_cast<std::size_t>(8 * std::clamp<std::int64_t>(tokens, 64, 1'000'000))),
      mixer_(std::vector<double>(inputs, first_weight), {mixer_rate, average_rate}),
      maps_{ProbabilityMap(map_contexts), ProbabilityMap(map_contexts)},
      last_place_(match_places, -1),
      followers_(follower_places) {
  for (std::size_t i = 0; i < stretched_steps; ++i)
    stretched_.push_back(stretch((static_cast<double>(i) + 0.5) / stretched_steps));
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) {
    const char32_t code = id == document_ ? 0 : vocabulary.code_point(id);
    const bool capital = code >= 'A' && code <= 'Z', small = code >= 'a' && code <= 'z';
    const bool letter = capital || small || code == '\'' || code >= 0x80, digit = code >= '0' && code <= '9';
    letters_.push_back(!letter ? 0 : capital ? code - 'A' + 'a' : code);
    kinds_.push_back(capital ? 1 : letter ? 2 : digit ? 3 : code == ' ' ? 4 : code == '\n' ? 5 : 6);
  }
  for (std::vector<Estimate>& estimates : of_history_)
    for (const BitHistories::State& state : histories_.states())
      estimates.push_back({(state.ones + 0.4) / (state.zeros + state.ones + 0.8), 0});
  for (std::vector<Estimate>& estimates : of_run_) estimates.assign(2 * (longest_run + 1), {0.6, 0});
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
  ++history.length;
  const std::uint32_t letter = letters_[static_cast<std::size_t>(id)];
  if (letter != 0) {
    if (history.word == 0) history.word_begin = id;
    history.word = joined_hash(history.word, letter);
    history.word_length = std::min<std::int64_t>(history.word_length + 1, 15);
  } else if (history.word != 0) {
    history.word_before = history.previous_word;
    history.previous_word = history.word;
    history.word = history.word_length = 0;
  }
  const std::uint64_t kind = kinds_[static_cast<std::size_t>(id)];
  if (letter == 0 || (history.kinds & 7) != kind) history.kinds = history.kinds << 3 | kind;
  advance_line(history, id);
  const bool goes_on = history.match >= 0 && text_[static_cast<std::size_t>(history.match)] == id &&
                       history.match + 1 < std::ssize(text_);
  if (!goes_on) return find_match(history);
  ++history.match;
  ++history.matched;
}

/// Of what began more than `reach` symbols ago, nothing is known.
void Counts::advance_line(History& history, std::int64_t id) const {
  if (id != line_end_) {
    history.line = joined_hash(history.line, static_cast<std::uint64_t>(id + 1));
    history.column = std::min(history.column + 1, reach - 1);
    return;
  }
  auto& headings = history.headings;
  if (history.column > 0 && headings[0].hash == 0) headings[0].hash = history.line;
  if (history.column == 0) {
    std::shift_right(headings.begin(), headings.end(), 1);
    headings[0] = {0, history.length};
  }
  history.above = history.column;
  history.line = history.column = 0;
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
  const auto is_near = [&](const History::Heading& heading) { return history.length - heading.begin < reach - 1; };
  std::array<std::uint64_t, 3> symbols{}, headings{};
  for (std::size_t i = 0; i < 3; ++i) {
    symbols[i] = static_cast<std::uint64_t>(history.recent[i] + 1);
    if (is_near(history.headings[i])) headings[i] = history.headings[i].hash;
  }
  const std::uint64_t last = symbols[0], before = symbols[1];
  const std::uint64_t word = history.word != 0 ? history.word : last;  // between words: the character there
  const bool in_heading = headings[0] == 0 && is_near(history.headings[0]);
  const std::int64_t above = history.above + history.column + 1 < reach ? history.above : reach;
  const std::uint64_t column = joined_hash(last, static_cast<std::uint64_t>(history.column));
  for (const std::uint64_t key :
       {word, joined_hash(word, history.previous_word), joined_hash(word, history.word_before), column,
        joined_hash(before, symbols[2]), history.kinds & 0xFFFFFFFF,
        joined_hash(joined_hash(history.kinds & 0xFFFF, last), before), followers_[follower_place(history)],
        joined_hash(static_cast<std::uint64_t>(above), column),
        joined_hash(in_heading ? history.line : last, headings[1]),
        in_heading ? joined_hash(history.line, headings[2]) : joined_hash(joined_hash(last, before), headings[0]),
        joined_hash(headings[0], word)})
    place.keys[n++] = key;
  for (std::size_t i = 0; i < n; ++i) {
    place.keys[i] = joined_hash(place.keys[i], i + 1);
    __builtin_prefetch(&runs_[run_of(place.keys[i])]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Run& run = runs_[run_of(place.keys[i])];
    const bool known = run.times > 0 && run.check == static_cast<std::uint16_t>(place.keys[i]);
    place.followed[i] = known ? std::int64_t{run.symbol} : -1;
    place.times[i] = known ? run.times : 0;
  }
  place.last = history.recent[0];
  place.expected = history.match < 0 ? -1 : std::int64_t{text_[static_cast<std::size_t>(history.match)]};
  place.matched = std::min<std::int64_t>(history.matched, longest_match - 1);
  const auto length = static_cast<std::uint64_t>(history.word_length);
  place.kinds = history.kinds & 0xFFF;
  place.begun =
      joined_hash(length, static_cast<std::uint64_t>(history.word != 0 ? history.word_begin : history.recent[0]));
  place.placed = joined_hash(length, static_cast<std::uint64_t>(history.column / 4));
  return place;
}

// ---- decisions

/// The bit of a symbol at a node; -1 if the node is not on its path, or the symbol is -1.
int Counts::bit_at(std::int64_t symbol, std::int32_t node) const {
  if (symbol < 0) return -1;
  for (const SymbolTree::Step step : tree_.path(symbol))  // node numbers fall along a path
    if (step.node <= node) return step.node == node ? int{step.bit} : -1;
  return -1;
}

/// Computes the logits to mix, and selects the weights.
void Counts::read_contexts(const Place& place, Known known, Decision& decision) const {
  std::size_t n = 0;
  std::uint64_t longest = 0, bits_of_longest = 0, pattern = 0;
  decision.known = 0;
  for (std::size_t context = 0; context < contexts; ++context) {
    const std::int64_t found = (known >> context & 1) != 0 ? table_.find(decision.keys[context]) : -1;
    decision.seen[context] = found;
    decision.followed[context] = -1;
    unsigned kind = 0;  // 0 not seen, 1 both bits seen, 2 only one of them
    double by_history = 0, by_p = 0, by_run = 0;
    if (found >= 0 && table_[found].bits > 0) {
      const ContextTable::Seen& seen = table_[found];
      decision.known |= Known{1} << context;
      by_history = stretched_[static_cast<std::size_t>(of_history_[context][seen.history].p * stretched_steps)];
      by_p = stretched_[seen.p >> 4];
      const BitHistories::State& state = histories_.states()[seen.history];
      kind = state.zeros > 0 && state.ones > 0 ? 1 : 2;
      if (context <= orders) longest = context, bits_of_longest = std::min<std::uint64_t>(3, seen.bits);
      const int bit = decision.followed[context] = bit_at(place.followed[context], decision.node);
      if (bit >= 0) {
        const std::size_t run = decision.runs[context] = 2 * static_cast<std::size_t>(place.times[context]) + kind - 1;
        by_run = (2 * bit - 1) * stretched_[static_cast<std::size_t>(of_run_[context][run].p * stretched_steps)];
      }
    }
    if (context >= 2 && context <= orders) pattern = 3 * pattern + kind;
    for (const double logit : {by_history, by_p, by_run}) decision.logits[n++] = logit;
  }
  const Estimate& match = of_match_[static_cast<std::size_t>(place.matched)];
  const int sign = decision.expected < 0 ? 0 : 2 * decision.expected - 1;
  decision.logits[n++] = sign * stretch(match.p);
  decision.logits[n++] = sign * (2 * match.p - 1);
  decision.logits[n++] = 0.3;  // a bias
  const auto node = static_cast<std::uint64_t>(decision.node), last = static_cast<std::uint64_t>(place.last + 1);
  const std::uint64_t expected = decision.expected < 0 ? 0 : static_cast<std::uint64_t>(place.expected + 1);
  std::size_t set = 0;
  for (const std::uint64_t selected :
       {node, place.kinds, joined_hash(static_cast<std::uint64_t>(place.matched), expected > 0),
        joined_hash(node, last), place.begun, place.placed, joined_hash(expected, decision.expected > 0),
        longest + (orders + 1) * bits_of_longest, joined_hash(node, longest), pattern})
    decision.chosen[set++] = mixed_bits(selected) % Mixer::vectors;
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
  decision.expected = bit_at(place.expected, node);
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
    if (const int expected = decision.followed[context]; expected >= 0)
      towards(of_run_[context][decision.runs[context]], expected == int{bit}, most_of_history, 1e-3, 1 - 1e-3);
    seen.history = histories_.next(seen.history, bit);
    seen.p = static_cast<std::uint16_t>(seen.p +
                                        static_cast<int>((bit ? 65535 - seen.p : -int{seen.p}) / (seen.bits + 1.6)));
    seen.bits = std::min<std::uint8_t>(most_bits, seen.bits + 1);
  }
  if (decision.expected >= 0)
    towards(of_match_[static_cast<std::size_t>(place.matched)], decision.expected == int{bit}, most_of_match, 0.02,
            0.9998);
}

void Counts::count(History& history, const Place& place, std::int64_t id) {
  for (std::size_t context = 0; context < contexts; ++context) {
    const auto times = static_cast<std::size_t>(place.followed[context] == id ? place.times[context] + 1 : 1);
    runs_[run_of(place.keys[context])] = {static_cast<std::uint32_t>(id),
                                          static_cast<std::uint16_t>(place.keys[context]),
                                          static_cast<std::uint16_t>(std::min(times, longest_run))};
  }
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
    for (const SymbolTree::Step step : tree_.path(tokens[i]))  // decide() would wait for each entry
      for (const std::uint64_t key : place.keys) table_.fetch(joined_hash(key, static_cast<std::uint64_t>(step.node)));
    for (const SymbolTree::Step step : tree_.path(tokens[i])) {
      decide(place, step.node, decision.known, decision);
      learn(place, decision, step.bit);
    }
    count(history, place, tokens[i]);
  }
}

}  // namespace chargpt
