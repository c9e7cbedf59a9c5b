// The options of config.h as one table, built once. Messages, help, JSON, schema and comparisons loop over its rows.
// Independent of files.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

struct OptionInfo {
  std::string section, name, help, needs;
  std::string range;  ///< "1 to 1000", "layernorm|rmsnorm|none"; "" if unlimited
  /// JSON Schema of the value, with default and help.
  std::function<nlohmann::ordered_json()> schema;
  std::function<nlohmann::ordered_json(const Config&)> get;
  /// Sets the option. The value must come from accepted() with this schema.
  std::function<void(Config&, const nlohmann::json&)> set;

  std::string key() const { return section + "." + name; }
};
const std::vector<OptionInfo>& option_table();

/// Finds an option by a key such as `n-head` or `model.n_head`; nullptr if there is none.
const OptionInfo* find_option(std::string key);
/// The sections in order: data, model, train, eval, sample.
std::vector<std::string> section_names();

/// A config as JSON, with its name and every option, defaults included. parse_config() reads it back unchanged.
nlohmann::ordered_json to_json(const Config& config);
/// JSON Schema (draft 2020-12) of a config file.
nlohmann::ordered_json config_schema();

/// An option that differs between configs, with its value in each as JSON: "train.max_iters", {"2000", "4000"}.
struct DifferingOption {
  std::string key;
  std::vector<std::string> values;
};
/// The options of `section` ("": all sections) that differ between configs and have an effect in at least one of them,
/// in the order of declaration. `except`: keys to leave out; "sample" stands for a whole section.
std::vector<DifferingOption> differing_options(const std::vector<Config>& configs, const std::string& section = "",
                                               const std::vector<std::string>& except = {});

/// One line, such as "train.max_iters 2000 -> 4000", for each of differing_options().
std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section = "",
                                         const std::vector<std::string>& except = {});

}  // namespace chargpt
