#include "config/source.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

using Json = nlohmann::json;

constexpr const char* spaces = " \t\r\n";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_.+-").find(c) != std::string_view::npos;
}

/// The word, string or character that contains the character before `position`; empty at the end of the text.
std::string_view found_at(std::string_view text, std::size_t position) {
  if (position == 0 || position > text.size()) return {};
  std::size_t begin = position - 1, end = position;
  if (text[begin] == '"') begin = std::min(begin, text.substr(0, begin).rfind('"'));
  while (begin > 0 && is_word(text[begin]) && is_word(text[begin - 1])) --begin;
  while (end < text.size() && is_word(text[begin]) && is_word(text[end])) ++end;
  return text.substr(begin, end - begin);
}

/// How to correct the slips that people make; for others, what nlohmann says.
std::string advice_on(std::string_view text, const Json::parse_error& error) {
  if (text.find_first_not_of(spaces) == std::string_view::npos)
    return ": it is empty; a config is an object such as {\"model\": {\"n_layer\": 4}}";
  std::string what = error.what();  // "...syntax error while parsing value - WHAT; expected X; last read: Y"
  what = what.substr(what.find(" - ") + 3);
  what = what.substr(0, what.find("; last read"));
  const std::string_view found = found_at(text, error.byte);
  if (found.empty() || what.starts_with("invalid string")) return ": " + what;
  const std::size_t last = text.substr(0, error.byte - 1).find_last_not_of(spaces);
  if (what.starts_with("unexpected") && what.find(" literal;") < what.find(';'))
    what = "a comma or colon is missing before it";
  else if ((found == "}" || found == "]") && last < text.size() && text[last] == ',')
    what = "remove the comma before it";
  else if (is_word(found[0]) || found == "'")
    what = "write words in double quotes, except true, false and null; write numbers like 10, 0.5 or 1e-3";
  return " at " + printable(found, 40) + ": " + what;
}

/// Characters that are shown to `see` where the parser takes them, once each: it does not count lines.
template <class See>
struct Seen {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;
  const char* at;
  See* see;
  char operator*() const {
    (*see)(*at);
    return *at;
  }
  Seen& operator++() {
    ++at;
    return *this;
  }
  bool operator==(const Seen& other) const { return at == other.at; }
};
template <class See>
Seen(const char*, See*) -> Seen<See>;

/// An object or list that is being read.
struct Level {
  bool is_list = false;
  std::size_t items = 0;
  std::string key = {};
};

/// "train.groups[1].match"
std::string path_of(const std::vector<Level>& open) {
  std::string path;
  for (const Level& level : open)
    path += level.is_list ? "[" + std::to_string(level.items) + "]" : (path.empty() ? "" : ".") + printable(level.key);
  return path;
}

}  // namespace

std::string Source::place(const std::string& path) const {
  const auto found = lines.find(path);
  return found == lines.end() || !has_lines ? label : label + ":" + std::to_string(found->second);
}

nlohmann::json read_json(std::string_view text, Source& source, std::size_t most) {
  if (text.size() > most)
    throw Error(ExitCode::usage, source.label, " has ", text.size(), " bytes; a config has at most ", most);
  int line = 1, last_line = 1;  // the latter of the last character that is not a space
  const auto fail = [&](const std::string& what) {
    throw Error(ExitCode::usage, source.label, source.has_lines ? line_of(":", last_line) : "", ": ", what);
  };
  const auto see = [&](char c) {
    if (std::string_view(spaces).find(c) == std::string_view::npos) last_line = line;
    if (c == '\0') fail("not JSON: it contains a NUL byte; is this a text file?");
    line += c == '\n' ? 1 : 0;
  };
  std::vector<Level> open;
  // Called after each piece. Refuses what the parser would accept: a key given twice, endless brackets.
  const auto follow = [&](int, Json::parse_event_t event, const Json& value) {
    constexpr std::size_t max_depth = 16, max_key_bytes = 100, most_lines = 1000;
    using Event = Json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    const bool closes = event == Event::object_end || event == Event::array_end;
    if (closes) open.pop_back();
    if (event == Event::key) open.back().key = value.get<std::string>();
    if (event == Event::key && open.back().key.size() > max_key_bytes) fail("a key has more than 100 bytes");
    const bool is_item = !open.empty() && open.back().is_list;
    const bool has_line = is_item && open.back().items < most_lines;  // a path takes memory
    if (event == Event::key || (has_line && !closes))
      if (const auto [first, fresh] = source.lines.emplace(path_of(open), last_line); !fresh)
        fail(line_of(first->first, " is given twice, first on line ", first->second, "; keep one of them"));
    if (opens && open.size() == max_depth) fail(path_of(open) + " is nested deeper than 16 levels");
    if (opens)
      open.push_back({.is_list = event == Event::array_start});
    else if (is_item)
      ++open.back().items;
    return true;
  };
  try {
    return Json::parse(Seen{text.data(), &see}, Seen{text.data() + text.size(), &see}, follow,
                       /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& error) {
    fail("not JSON" + advice_on(text, error));
  } catch (const Json::out_of_range&) {
    fail(path_of(open) + " is too large for a number");
  }
  return {};
}

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t most = 60;
  const auto dumped = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (value.is_object()) return "{...}";
  if (value.is_string()) return '"' + printable(value.get_ref<const std::string&>(), most) + '"';
  return value.is_number_float() ? spelled(value.get<double>()) : printable(dumped(value), most);
}

std::string spelled(double number) {
  char digits[32];
  std::string out(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  if (const std::size_t plus = out.find("e+"); plus != std::string::npos) out.erase(plus + 1, 1);
  return out;
}

}  // namespace chargpt
