#include "evaluate/copied_text.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace chargpt {
namespace {

/// A state represents the stretches that end at the same positions of the texts, of lengths from 1 + the length of its
/// link to `length`.
struct State {
  std::int64_t length = 0;
  std::int32_t link = -1;
  std::int64_t found = 0;  ///< length of its longest stretch that occurs in the source
  std::int64_t found_end = std::numeric_limits<std::int64_t>::max();  ///< end of the first occurrence of that stretch
};

class SuffixAutomaton {
 public:
  SuffixAutomaton() : states_(1) {}

  void append(std::int64_t id) {
    const std::int32_t current = add({.length = states_[at(last_)].length + 1});
    std::int32_t state = last_;
    for (; state != -1 && !has_next(state, id); state = states_[at(state)].link) set_next(state, id, current);
    states_[at(current)].link = state == -1 ? 0 : target(state, id);
    last_ = current;
  }

  /// The state of the whole appended text.
  std::int32_t last() const { return last_; }

  /// Reads a source: records for each state its longest stretch that occurs there.
  void read(TokenView source) {
    std::int32_t state = 0;
    std::int64_t length = 0, end = 0;
    source.each_run([&](std::span<const std::int64_t> run) {
      for (const std::int64_t id : run) {
        ++end;
        while (state != 0 && !has_next(state, id)) {
          state = states_[at(state)].link;
          length = states_[at(state)].length;
        }
        if (!has_next(state, id)) continue;
        state = next(state, id);
        mark(state, ++length, end);
      }
    });
    spread();
  }

  /// The longest stretch with the end of `state` that occurs in the source: length, end of first occurrence.
  std::pair<std::int64_t, std::int64_t> found(std::int32_t state) const {
    while (state > 0 && states_[at(state)].found == 0) state = states_[at(state)].link;
    return state <= 0 ? std::pair<std::int64_t, std::int64_t>(0, 0)
                      : std::pair(states_[at(state)].found, states_[at(state)].found_end);
  }

 private:
  static std::size_t at(std::int32_t state) { return static_cast<std::size_t>(state); }
  static std::uint64_t key(std::int32_t state, std::int64_t id) {
    return static_cast<std::uint64_t>(state) << 32 | static_cast<std::uint64_t>(id);
  }
  std::int32_t add(const State& state) {
    states_.push_back(state);
    outgoing_.emplace_back();
    return static_cast<std::int32_t>(states_.size()) - 1;
  }
  bool has_next(std::int32_t state, std::int64_t id) const { return next_.contains(key(state, id)); }
  std::int32_t next(std::int32_t state, std::int64_t id) const { return next_.find(key(state, id))->second; }
  void set_next(std::int32_t state, std::int64_t id, std::int32_t to) {
    if (next_.insert_or_assign(key(state, id), to).second) outgoing_[at(state)].push_back(id);
  }

  /// The state after `id`; if that also represents longer stretches, splits it.
  std::int32_t target(std::int32_t state, std::int64_t id) {
    const std::int32_t old = next(state, id);
    const std::int64_t length = states_[at(state)].length + 1;
    if (states_[at(old)].length == length) return old;
    const std::int32_t clone = add({.length = length, .link = states_[at(old)].link});
    const std::vector<std::int64_t> ids = outgoing_[at(old)];
    for (const std::int64_t each : ids) set_next(clone, each, next(old, each));
    for (; state != -1 && has_next(state, id) && next(state, id) == old; state = states_[at(state)].link)
      set_next(state, id, clone);
    states_[at(old)].link = clone;
    return clone;
  }

  void mark(std::int32_t state, std::int64_t length, std::int64_t end) {
    State& marked = states_[at(state)];
    if (length <= marked.found) return;
    marked.found = length;
    marked.found_end = end;
  }

  /// A state that occurs in the source contains the shorter stretches of its links.
  void spread() {
    std::vector<std::int32_t> order;
    for (std::int32_t state = 1; state < static_cast<std::int32_t>(states_.size()); ++state) order.push_back(state);
    std::ranges::sort(order,
                      [this](std::int32_t a, std::int32_t b) { return states_[at(a)].length > states_[at(b)].length; });
    for (const std::int32_t state : order) {
      const State& from = states_[at(state)];
      if (from.found == 0 || from.link <= 0) continue;
      mark(from.link, states_[at(from.link)].length, from.found_end);
    }
  }

  std::vector<State> states_;
  std::vector<std::vector<std::int64_t>> outgoing_{1};  ///< ids with a next state
  std::unordered_map<std::uint64_t, std::int32_t> next_;
  std::int32_t last_ = 0;
};

}  // namespace

CopiedText copied_text(std::span<const std::vector<std::int64_t>> texts, TokenView source) {
  SuffixAutomaton automaton;
  std::vector<std::int32_t> states;
  std::int64_t separator = std::int64_t{1} << 31;  // not an id; each is unique, so that stretches do not span two texts
  for (const std::vector<std::int64_t>& text : texts) {
    for (const std::int64_t id : text) {
      automaton.append(id);
      states.push_back(automaton.last());
    }
    automaton.append(separator++);
  }
  automaton.read(source);
  CopiedText copied;
  std::size_t place = 0;
  for (std::size_t text = 0; text < texts.size(); ++text) {
    for (std::size_t i = 0; i < texts[text].size(); ++i, ++place) {
      const auto [length, end] = automaton.found(states[place]);
      copied.match.push_back(length);
      if (length <= copied.longest) continue;
      copied.longest = length;
      copied.text = static_cast<std::int64_t>(text);
      copied.begin = static_cast<std::int64_t>(i) + 1 - length;
      copied.source_begin = end - length;
    }
  }
  return copied;
}

double CopiedText::copied_share(std::int64_t length) const {
  std::int64_t covered = 0, left = 0;  // number of earlier tokens that belong to the current stretch
  for (std::size_t i = match.size(); i-- > 0;) {
    if (match[i] >= length) left = std::max(left, match[i]);
    if (left > 0) {
      ++covered;
      --left;
    }
  }
  return match.empty() ? 0 : static_cast<double>(covered) / static_cast<double>(match.size());
}

}  // namespace chargpt
