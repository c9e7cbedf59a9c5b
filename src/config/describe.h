// The options of config.h as one table, made once: a row has what messages, help, JSON, schema and comparisons need, so
// that all of these loop over it. Independent of files.
#pragma once

#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace chargpt {

struct OptionInfo {
  std::string section, name, help, needs;
  std::string range;  ///< "1 to 1000", "layernorm|rmsnorm|none", or empty
  /// JSON Schema of the value, with default and help.
  std::function<nlohmann::ordered_json()> schema;
  std::function<nlohmann::ordered_json(const Config&)> get;
  /// Needs a value that accepted() has returned for the schema.
  std::function<void(Config&, const nlohmann::json&)> set;

  std::string key() const { return section + "." + name; }
};
const std::vector<OptionInfo>& option_table();

/// An option by a key such as `n-head` or `model.n_head`; null if there is none.
const OptionInfo* find_option(std::string key);
/// data, model, train, eval, sample.
const std::vector<std::string>& section_names();

/// The config of a run as parse_config reads it back, equal: name and every option, defaults included.
nlohmann::ordered_json to_json(const Config& config);
/// JSON Schema (draft 2020-12) of a config file.
nlohmann::ordered_json config_schema();

/// An option and its value in each of several configs, as JSON: "train.max_iters", {"2000", "4000"}.
struct DifferingOption {
  std::string key;
  std::vector<std::string> values;
};
/// Options of `section` ("" for all) that differ between configs and act in one of them, in the order of declaration.
std::vector<DifferingOption> differing_options(const std::vector<Config>& configs, const std::string& section = "");

/// "train.max_iters 2000 -> 4000" for every option of `section` ("" for all) that differs, in the order of declaration.
std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section = "");

/// Removes the lines on these options, "sample." for all of a section.
void leave_out(std::vector<std::string>& changes, std::initializer_list<std::string_view> options);

}  // namespace chargpt
