#include "config/source.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "base/quote.h"

namespace chargpt {
namespace {

using Json = nlohmann::json;

constexpr const char* spaces = " \t\r\n";

/// The parser's message, with advice on two common mistakes.
std::string advice_on(std::string_view text, const Json::parse_error& error) {
  std::string what = error.what();  // "...syntax error while parsing value - WHAT; expected X; last read: Y"
  what = what.substr(what.find(" - ") + 3);
  what = what.substr(0, what.find("; last read"));
  const std::size_t at = std::min(error.byte, text.size()) - 1, before = text.substr(0, at).find_last_not_of(spaces);
  if (before < at && text[before] == ',' && (text[at] == '}' || text[at] == ']'))
    return std::string("remove the comma before ") + text[at];
  return what == "invalid literal" ? what + "; write words in double quotes, and numbers like 10, 0.5 or 1e-3" : what;
}

/// An object or list that is being parsed.
struct Level {
  bool is_list = false;
  std::size_t items = 0;
  std::string key = {};
  std::set<std::string> keys = {};
};

/// The path of the current value: "train.groups[1].match".
std::string path_of(const std::vector<Level>& open) {
  std::string path;
  for (const Level& level : open)
    path += level.is_list ? "[" + std::to_string(level.items) + "]" : (path.empty() ? "" : ".") + printable(level.key);
  return path;
}

/// Follows the parser to count lines and to reject duplicate keys and deep nesting, which it would accept.
class Reading {
 public:
  Reading(std::string_view text, Source& source) : text_(text), source_(source) {}

  Json parse() {
    std::istringstream letters{std::string(text_)};
    const auto follow = [&](int, Json::parse_event_t event, const Json& value) {
      if (source_.has_lines) count_lines(text_.size() - static_cast<std::size_t>(letters.rdbuf()->in_avail()));
      event == Json::parse_event_t::key ? enter_key(value) : enter(event);
      return true;
    };
    const std::size_t nul = text_.find('\0');
    if (nul != std::string_view::npos) fail_at(nul + 1, "not JSON: it contains a NUL byte; is this a text file?");
    try {
      return Json::parse(letters, follow, /*allow_exceptions=*/true,
                         /*ignore_comments=*/source_.has_lines);
    } catch (const Json::parse_error& error) {
      fail_at(error.byte, "not JSON: " + advice_on(text_, error));
    } catch (const Json::out_of_range&) {
      fail(path_of(open_) + " is too large for a number");
    }
  }

 private:
  /// Counts the lines before `end`, without trailing white space.
  void count_lines(std::size_t end) {
    end = std::max(counted_, text_.substr(0, end).find_last_not_of(spaces) + 1);
    line_ += static_cast<int>(std::ranges::count(text_.substr(counted_, end - counted_), '\n'));
    counted_ = end;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(source_.code, source_.label, source_.has_lines ? line_of(":", line_) : "", ": ", what);
  }
  [[noreturn]] void fail_at(std::size_t byte, const std::string& what) {
    count_lines(byte);
    fail(what);
  }
  void enter_key(const std::string& key) {
    Level& level = open_.back();
    level.key = key;
    if (!level.keys.insert(key).second) {
      const auto first = source_.lines.find(path_of(open_));
      const std::string line = first == source_.lines.end() ? "" : line_of(", first on line ", first->second);
      fail(path_of(open_) + " is given twice" + line + "; keep one of them");
    }
    keep_line();
  }
  /// Handles the other events: a value, or the begin or end of an object or list.
  void enter(Json::parse_event_t event) {
    constexpr std::size_t max_depth = 16, most_lines = 1000;
    using Event = Json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    const bool closes = event == Event::object_end || event == Event::array_end;
    if (closes) open_.pop_back();
    const bool is_item = !open_.empty() && open_.back().is_list;
    if (is_item && !closes && open_.back().items < most_lines) keep_line();
    if (opens && open_.size() == max_depth) fail(path_of(open_) + " is nested deeper than 16 levels");
    if (opens)
      open_.push_back({.is_list = event == Event::array_start});
    else if (is_item)
      ++open_.back().items;
  }
  void keep_line() {
    if (source_.has_lines) source_.lines.emplace(path_of(open_), line_);
  }

  const std::string_view text_;
  Source& source_;
  std::vector<Level> open_;
  int line_ = 1;
  std::size_t counted_ = 0;
};

}  // namespace

std::string Source::place(const std::string& path) const {
  const auto found = lines.find(path);
  return found == lines.end() || !has_lines ? label : label + ":" + std::to_string(found->second);
}

nlohmann::json read_json(std::string_view text, Source& source) {
  return Reading(text, source).parse();
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
