// Strict JSON that people write: every value knows its line, and what is wrong comes with how to mend it. What programs
// write is read by run/strict_json.h. Independent of options: other files decide what a value means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// Where config text comes from, for messages: a file, "mine.json", or a flag, "--set", which has no lines.
struct Source {
  std::string label = {};
  bool has_lines = true;

  /// "mine.json:7", or "--set".
  std::string place(int line) const { return has_lines ? label + ":" + std::to_string(line) : label; }
};

struct Member;

/// One value as it was written. Numbers keep their spelling: whether 2^64 or 1e3 fits is for the option to say.
struct Value {
  enum class Kind {
    null,
    boolean,  ///< text is "true" or "false"
    number,   ///< text is its spelling
    string,   ///< text is its content
    bare,     ///< a word from the command line, of whatever type the option has
    array,
    object,
  };
  Kind kind = Kind::null;
  int line = 1;
  std::string text;
  std::vector<Value> items;     ///< of an array
  std::vector<Member> members;  ///< of an object, in the order written; no key twice

  const Value* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Value value;
};

/// Of a config that people write, and of one that a run keeps, where each of many texts has a line.
constexpr std::size_t max_config_bytes = 1 << 20, max_kept_config_bytes = 16 << 20;

/// The value that `text` holds, which may have comments (// and /* */). Error usage, which names source, line and path
/// of keys, if it is longer than `most`, not JSON, gives a key twice, nests deeper than 16 or holds a NUL.
Value read_json(std::string_view text, const Source& source, std::size_t most = max_config_bytes);

/// For messages: `5`, `"four"`, `["mlp", "norm"]`, `{...}`, cut if long.
std::string shown(const Value& value);
/// "a string", "an object", ...
std::string kind_name(const Value& value);

}  // namespace chargpt
