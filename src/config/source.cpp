#include "config/source.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

constexpr std::size_t max_depth = 16;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// How far the parser has read.
struct Progress {
  int line = 1;       ///< of the next character
  int last_line = 1;  ///< of the last character that is no space: after a number the parser has read one too far
};

/// Reads characters for the parser and keeps count of lines, which its events do not report.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Progress* progress) : at_(at), progress_(progress) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (!is_space(*at_)) progress_->last_line = progress_->line;
    if (*at_ == '\n') ++progress_->line;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  Progress* progress_;
};

int line_at(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position == 0 ? 0 : position - 1, text.size()));
  return 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '+' || c == '-';
}

/// The unexpected thing that ends at `position` (1-based), and what stands before it.
struct Culprit {
  std::string_view text;
  char previous = 0;  ///< the last character before it that is not a space; 0 at the start
};

Culprit culprit_at(std::string_view text, std::size_t position, const std::string& token) {
  std::size_t end = position, start = position - 1;
  if (is_word(text[start])) {
    while (start > 0 && is_word(text[start - 1])) --start;
    while (end < text.size() && is_word(text[end])) ++end;
  } else if (text[start] == '"' && token.size() <= position) {
    start = position - token.size();
  }
  const std::string_view before = text.substr(0, start);
  const std::size_t last = before.find_last_not_of(" \t\r\n");
  return {text.substr(start, end - start), last == std::string_view::npos ? '\0' : before[last]};
}

std::string advice_on_word(std::string_view word) {
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "true" || lower == "false" || lower == "null") return "write " + lower + " in lower case";
  if (lower == "none") return "leave the key out, or write \"none\" if that is a choice";
  if (lower.find("nan") != std::string::npos || lower.find("inf") != std::string::npos) return "numbers are finite";
  if (std::isalpha(static_cast<unsigned char>(word[0])) != 0 || word[0] == '_')
    return "write keys and words in double quotes";
  return "write numbers like 10, 0.5 or 1e-3";
}

std::string advice_on(const Culprit& culprit) {
  const char first = culprit.text[0];
  const bool separated =
      culprit.previous == 0 || std::string_view("{[,:").find(culprit.previous) != std::string_view::npos;
  if (first == '\'') return "write strings and keys in double quotes";
  if (first == ',' && separated) return "a key or value is missing before it";
  if (first == '#') return "comments start with //";
  if ((first == '}' || first == ']') && culprit.previous == ',') return "leave out the comma before it";
  if (first == '=' || first == ';') return "write \"key\": value, separated by commas";
  if (!separated)
    return culprit.previous == '}' ? "a comma is missing before it, or a } too many"
                                   : "a comma or colon is missing before it";
  if (is_word(first)) return advice_on_word(culprit.text);
  return "it does not belong here";
}

/// What is wrong at `position`, and what to do; `token` is what the parser last read, up to there.
std::string complaint(std::string_view text, std::size_t position, const std::string& token) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return ": it is empty; a config is an object such as {\"model\": {\"n_layer\": 4}}";
  if (position == 0 || position > text.size()) return ": it ends before the last string, comment, ] or } is closed";
  const char last = text[position - 1];
  const bool in_string = token.starts_with('"') && (token.size() < 2 || token.back() != '"');
  if (last == '\n' || last == '\r') return ": a string must end on the line where it starts";
  if (in_string && static_cast<unsigned char>(last) >= 0x80) return ": a string is not UTF-8";
  if (in_string && token.size() > 1 && token[token.size() - 2] == '\\') return ": a \\ in a string is written \\\\";
  const Culprit culprit = culprit_at(text, position, token);
  return " at " + printable(culprit.text, 40) + ": " + advice_on(culprit);
}

/// Receives nlohmann's parse events and builds the tree of values.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const Source& source, const Progress& progress)
      : text_(text), source_(source), progress_(progress) {}

  Value take_root() { return std::move(root_); }

  bool null() { return scalar(Value::Kind::null, "null"); }
  bool boolean(bool value) { return scalar(Value::Kind::boolean, value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return scalar(Value::Kind::number, std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return scalar(Value::Kind::number, std::to_string(value)); }
  bool number_float(double, const std::string& spelling) { return scalar(Value::Kind::number, spelling); }
  bool string(std::string& value) { return scalar(Value::Kind::string, std::move(value)); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // JSON text has no binary values
  bool start_object(std::size_t) { return open(Value::Kind::object); }
  bool start_array(std::size_t) { return open(Value::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception& error) {
    constexpr int number_overflow = 406;  // nlohmann's exception out_of_range.406
    if (error.id == number_overflow)
      fail(progress_.last_line, path() + " = " + printable(token, 40) + " is too large for a number");
    fail(line_at(text_, position), "not JSON" + complaint(text_, position, token));
  }

 private:
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw Error(ExitCode::usage, source_.place(line), ": ", what);
  }

  /// The keys that lead to the value being read: "train.groups[1].match".
  std::string path() const {
    std::string out;
    for (const Frame& frame : open_) {
      const bool innermost = &frame == &open_.back();
      const std::size_t index =
          frame.value->items.size() - (innermost ? 0 : 1);  // the others hold the next one already
      const bool is_array = frame.value->kind == Value::Kind::array;
      out += is_array ? "[" + std::to_string(index) + "]" : (out.empty() ? "" : ".") + printable(frame.key);
    }
    return out;
  }

  /// Error if the object being read already has the key; `value` is the second one.
  void check_new(const Value& value) {
    Frame& parent = open_.back();
    const auto [first, is_new] = parent.lines.emplace(parent.key, value.line);
    if (!is_new)
      fail(value.line, path() + " = " + (value.kind == Value::Kind::array ? "[...]" : shown(value)) +
                           " is given twice, first on line " + std::to_string(first->second) + "; keep one of them");
  }

  Value& append(Value value) {
    if (open_.empty()) return root_ = std::move(value);
    Frame& parent = open_.back();
    if (parent.value->kind == Value::Kind::array) return parent.value->items.emplace_back(std::move(value));
    check_new(value);
    return parent.value->members.emplace_back(Member{parent.key, std::move(value)}).value;
  }

  bool scalar(Value::Kind kind, std::string text) {
    append({.kind = kind, .line = progress_.last_line, .text = std::move(text), .items = {}, .members = {}});
    return true;
  }

  bool open(Value::Kind kind) {
    if (open_.size() == max_depth)
      fail(progress_.last_line, path() + " is nested deeper than " + std::to_string(max_depth) + " levels");
    Value& value = append({.kind = kind, .line = progress_.last_line, .text = {}, .items = {}, .members = {}});
    // The pointer stays good: only the innermost open value grows.
    open_.push_back({.value = &value});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  struct Frame {
    Value* value;
    std::string key = {};                   ///< of an object: the one being read
    std::map<std::string, int> lines = {};  ///< of an object: where each key stands
  };
  std::string_view text_;
  const Source& source_;
  const Progress& progress_;
  Value root_;
  std::vector<Frame> open_;
};

std::string joined(const std::vector<Value>& items) {
  std::string out;
  for (const Value& item : items) {
    if (out.size() > 80) return out + ", ...";
    out += (out.empty() ? "" : ", ") + shown(item);
  }
  return out;
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

Value read_json(std::string_view text, const Source& source, std::size_t most) {
  if (text.size() > most)
    throw Error(ExitCode::usage, source.label, " has ", text.size(), " bytes; a config has at most ", most);
  // The parser would take a NUL as the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    throw Error(ExitCode::usage, source.place(line_at(text, nul + 1)),
                ": not JSON: it holds a NUL byte; is this a text file?");
  Progress progress;
  TreeBuilder builder(text, source, progress);
  constexpr bool strict = true;
  nlohmann::json::sax_parse(CountingIterator(text.data(), &progress),
                            CountingIterator(text.data() + text.size(), &progress), &builder,
                            nlohmann::json::input_format_t::json, strict, /*ignore_comments=*/true);
  return builder.take_root();
}

std::string shown(const Value& value) {
  constexpr std::size_t max_bytes = 60;
  if (value.kind == Value::Kind::null) return "null";
  if (value.kind == Value::Kind::string) return "\"" + printable(value.text, max_bytes) + "\"";
  if (value.kind == Value::Kind::array) return "[" + joined(value.items) + "]";
  if (value.kind == Value::Kind::object) return "{...}";
  return value.text.empty() ? "\"\"" : printable(value.text, max_bytes);
}

std::string kind_name(const Value& value) {
  if (value.kind == Value::Kind::null) return "null";
  if (value.kind == Value::Kind::boolean) return "true or false";
  if (value.kind == Value::Kind::number) return "a number";
  if (value.kind == Value::Kind::array) return "a list";
  return value.kind == Value::Kind::object ? "an object" : "a string";
}

}  // namespace chargpt
