// The one parser of untrusted JSON: strict, and it records the line of each value in files that people write.
// Independent of options: callers give values their meaning.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace chargpt {

/// The source of a JSON text, for messages: a config file ("mine.json"), a flag ("--set") or a file that a program
/// wrote. Lines of the last two tell a reader nothing.
struct Source {
  std::string label;
  bool has_lines = true;
  std::map<std::string, int> lines = {};  ///< of each value, by path: "train.groups[0].match"
  ExitCode code = ExitCode::usage;        ///< the code of errors in this source

  /// "mine.json:7" for the path of a value; the label alone if its line is unknown.
  std::string place(const std::string& path) const;
};

/// Parses `text`, and records lines in `source` if source.has_lines; such a text may have comments (// and /* */).
/// Error `source.code`, which names the line and the fault, if the text is not JSON, has a duplicate key or a NUL, or
/// nests deeper than 16 levels.
nlohmann::json read_json(std::string_view text, Source& source);

/// A value for messages: `5`, `"four"`, `["mlp","norm"]`, `{...}`; on one line, and cut if long.
std::string shown(const nlohmann::json& value);

/// The shortest decimal that parses to the same double: "1000", "1e12", "0.1".
std::string spelled(double number);

}  // namespace chargpt
