#include "config/kinds.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "base/pattern.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

using Kind = Value::Kind;

/// A value on its way into an option.
struct Entry {
  const Value& value;
  std::string key;    ///< "model.n_head", "train.groups[0].match"
  std::string place;  ///< "mine.json:7"
  const Source& source;

  [[noreturn]] void reject(const std::string& what) const {
    throw Error(ExitCode::usage, place, ": ", key, " = ", shown(value), " ", what);
  }
  [[noreturn]] void reject_type(const std::string& takes) const {
    if (value.kind == Kind::null) reject("is not a value; leave it out, or give " + takes);
    reject((value.kind == Kind::bare ? "is not understood" : "is " + kind_name(value)) + "; it takes " + takes);
  }
  Entry part(const Value& item, const std::string& suffix) const {
    return {item, key + suffix, source.place(item.line), source};
  }
};

bool is_text(const Value& value) {
  return value.kind == Kind::string || value.kind == Kind::bare;
}

/// nullopt if the value is not a number; Error if it is one that a double cannot hold.
std::optional<double> number_of(const Entry& entry) {
  const std::string& text = entry.value.text;
  const bool numeric = entry.value.kind == Kind::number || entry.value.kind == Kind::bare;
  if (!numeric || text.find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) entry.reject("is too large or too close to 0 for a number");
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

void check_range(double number, const Range& range, const Entry& entry) {
  if (range.above && number <= range.min) entry.reject("is not above " + spelled(range.min) + ", the limit");
  if (number < range.min) entry.reject("is below " + spelled(range.min) + ", the smallest allowed");
  if (number > range.max) entry.reject("is above " + spelled(range.max) + ", the largest allowed");
}

void assign(double& member, const Range& range, const Entry& entry) {
  const std::optional<double> number = number_of(entry);
  if (!number) entry.reject_type(takes(member, range));
  check_range(*number, range, entry);
  member = *number;
}

void assign(OptionalNumber& member, const Range& range, const Entry& entry) {
  assign(member.emplace(), range, entry);
}

/// 1000 and 1e3 are the same; spellings without a point or exponent are read exactly.
void assign(std::int64_t& member, const Range& range, const Entry& entry) {
  const std::optional<double> number = number_of(entry);
  if (!number) entry.reject_type(takes(member, range));
  check_range(*number, range, entry);
  const double below = std::floor(*number);
  if (below != *number)
    entry.reject("is not a whole number; " + spelled(below) + " or " + spelled(below + 1) + " would do");
  constexpr double two_to_63 = 9223372036854775808.0;
  if (*number < -two_to_63 || *number >= two_to_63) entry.reject("does not fit into 64 bits");
  const std::string& text = entry.value.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), member);
  if (error != std::errc() || end != text.data() + text.size()) member = static_cast<std::int64_t>(*number);
}

void assign(bool& member, const Range& range, const Entry& entry) {
  const Value& value = entry.value;
  const bool spelled_out = value.text == "true" || value.text == "false";
  if (!spelled_out || (value.kind != Kind::boolean && value.kind != Kind::bare))
    entry.reject_type(takes(member, range));
  member = value.text == "true";
}

void assign(std::string& member, const Range& range, const Entry& entry) {
  if (!is_text(entry.value)) entry.reject_type(takes(member, range));
  if (entry.value.text.find('\0') != std::string::npos) entry.reject("holds a NUL character");
  if (!is_utf8(entry.value.text)) entry.reject("is not UTF-8");  // a word from the command line may hold any bytes
  member = entry.value.text;
}

/// One more item of a list, which is named before the list grows: arguments of a call are made in no order.
template <class List>
void append(List& list, const Range& range, const Entry& entry, const Value& item) {
  const Entry part = entry.part(item, "[" + std::to_string(list.size()) + "]");
  assign(list.emplace_back(), range, part);
}

void assign(Strings& member, const Range& range, const Entry& entry) {
  const bool list = entry.value.kind == Kind::array;
  if (!list && !is_text(entry.value)) entry.reject_type(takes(member, range));
  Strings read;
  if (!list) assign(read.emplace_back(), range, entry);
  for (const Value& item : entry.value.items) append(read, range, entry, item);
  if (static_cast<double>(read.size()) < range.min) entry.reject("is an empty list; name at least one file");
  if (std::find(read.begin(), read.end(), "") != read.end()) entry.reject("has an empty name; name a file");
  member = read;
}

template <class E>
requires std::is_enum_v<E>
void assign(E& member, const Range& range, const Entry& entry) {
  if (!is_text(entry.value)) entry.reject_type(takes(member, range));
  const std::optional<E> chosen = enum_value<E>(entry.value.text);
  if (!chosen)
    entry.reject("is not one of " + joined(spellings<E>(), ", ") + did_you_mean(entry.value.text, spellings<E>()));
  member = *chosen;
}

/// The items of a list; a word from the command line is split at its commas.
std::vector<Value> items_of(const Value& value) {
  if (value.kind != Kind::bare) return value.items;
  std::vector<Value> items;
  for (const std::string& word : split(value.text, ","))
    items.push_back({.kind = Kind::bare, .text = word, .items = {}, .members = {}});
  return items;
}

std::vector<std::string> group_keys() {
  std::vector<std::string> keys;
  const GroupConfig group;
  GroupConfig::visit(group,
                     [&](const char* name, const auto&, const Range&, const auto&...) { keys.emplace_back(name); });
  return keys;
}

void assign(GroupConfig& group, const Range&, const Entry& entry) {
  if (entry.value.kind != Kind::object) entry.reject_type("an object with " + joined(group_keys(), ", "));
  for (const auto& [key, value] : entry.value.members) {
    const Entry part = entry.part(value, "." + printable(key));
    bool known = false;
    GroupConfig::visit(group, [&, &key = key](std::string_view name, auto& member, const Range& range, const auto&...) {
      if (name != key) return;
      known = true;
      assign(member, range, part);
    });
    if (!known) part.reject("is not an option of a group" + did_you_mean(key, group_keys()));
    if (key == "match") compile_pattern(group.match, part.place + ": " + part.key);
  }
  if (group.lr_scale && group.learning_rate)
    entry.reject(
        "has both lr_scale and learning_rate; keep one: lr_scale is a multiple of train.learning_rate, "
        "learning_rate does not follow it");
  if (entry.value.find("match") == nullptr) entry.reject("has no match; add one such as \"match\": \"wte|lm_head\"");
}

/// Places, numbers or groups; the last are no words.
template <class T>
void assign(std::vector<T>& member, const Range& range, const Entry& entry) {
  const bool is_words = entry.value.kind == Kind::bare && !std::is_same_v<T, GroupConfig>;
  if (entry.value.kind != Kind::array && !is_words) entry.reject_type(takes(member, range));
  std::vector<T> read;
  for (const Value& item : items_of(entry.value)) {
    append(read, range, entry, item);
    if constexpr (std::is_same_v<T, Place>)
      if (std::ranges::count(read, read.back()) > 1)
        entry.reject("names " + std::string(enum_name(read.back())) + " twice; once is enough");
  }
  member = read;
}

}  // namespace

bool assign_option(Config& config, std::string_view section, std::string_view key, const Value& value,
                   const std::string& place, const Source& source) {
  bool known = false;
  Config::visit(config, [&](std::string_view section_name, auto& options) {
    if (section_name != section) return;
    options.visit(options, [&](std::string_view name, auto& member, const Range& range, const auto&...) {
      if (name != key) return;
      known = true;
      assign(member, range, Entry{value, std::string(section) + "." + std::string(key), place, source});
    });
  });
  return known;
}

bool is_string_option(std::string_view section, std::string_view key) {
  bool is_string = false;
  Config config;
  Config::visit(config, [&](std::string_view section_name, auto& options) {
    options.visit(options, [&]<class Member>(std::string_view name, Member&, const auto&...) {
      is_string = is_string || (std::is_same_v<Member, std::string> && section_name == section && name == key);
    });
  });
  return is_string;
}

}  // namespace chargpt
