// The declarations of config.h as JSON, as a JSON Schema and as a table of options; and how configs differ. Independent
// of files.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// The config of a run as parse_config reads it back, equal: name and every option, defaults included.
nlohmann::ordered_json to_json(const Config& config);
/// The same with an "origin" object, which parse_config reads back too.
nlohmann::ordered_json to_json(const ResolvedConfig& resolved);
/// JSON Schema (draft 2020-12) of a config file.
nlohmann::ordered_json config_schema();

/// An option and its value in each of several configs, as JSON: "train.max_iters", {"2000", "4000"}.
struct DifferingOption {
  std::string key;
  std::vector<std::string> values;
};
/// Every option of `section` ("" for all) that is not the same in all configs, in the order of declaration.
std::vector<DifferingOption> differing_options(const std::vector<Config>& configs, const std::string& section = "");

/// "train.max_iters 2000 -> 4000" for every option of `section` ("" for all) that differs, in the order of declaration.
std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section = "");

/// Removes the lines on these options, "sample." for all of a section.
void leave_out(std::vector<std::string>& changes, std::initializer_list<std::string_view> options);

/// One row per option, for --help, tables and completions. type: integer, number, boolean, string, choice, "string or
/// list", list, "list of objects"; range: "1 to 1000", "layernorm|rmsnorm|none", or empty.
struct OptionInfo {
  std::string section, name, type, range, help, needs;

  std::string key() const { return section + "." + name; }
};
std::vector<OptionInfo> option_table();

/// An option by a key such as `n-head` or `model.n_head`: its name with underscores, the section that the key gives,
/// and the sections that have an option of that name, of which there may be none or several.
struct NamedOption {
  std::string section, name;
  std::vector<std::string> holders;
};
NamedOption named_option(std::string key);

}  // namespace chargpt
