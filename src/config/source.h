// The one reader of JSON from outside: strict; of what people write it knows the line of each value. Independent of
// options: other files decide what a value means.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace chargpt {

/// Where JSON comes from, for messages: a config file, "mine.json"; or a flag, "--set", or what a program wrote, whose
/// lines say nothing.
struct Source {
  std::string label;
  bool has_lines = true;
  std::map<std::string, int> lines = {};  ///< of "train.groups[0].match" and every other value
  ExitCode code = ExitCode::usage;        ///< of errors

  /// "mine.json:7", or the label where the path of keys has no line.
  std::string place(const std::string& path) const;
};

/// Of a config that people write, and of one that a run keeps, where each of many texts has a line.
constexpr std::size_t max_config_bytes = 1 << 20, max_kept_config_bytes = 16 << 20;

/// The value that `text` contains, and in `source` its lines where it has them; such a text may have comments (// and
/// /* */). Error `source.code`, which names the line and what was found, if it is longer than `most`, not JSON, gives a
/// key twice, nests deeper than 16 or contains a NUL.
nlohmann::json read_json(std::string_view text, Source& source, std::size_t most = max_config_bytes);

/// For messages: `5`, `"four"`, `["mlp","norm"]`, `{...}`, on one line, cut if long.
std::string shown(const nlohmann::json& value);

/// The shortest text that reads back equal: "1000", "1e12", "0.1".
std::string spelled(double number);

}  // namespace chargpt
