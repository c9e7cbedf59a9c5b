#include "compare/variants.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/describe.h"
#include "report/format.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

constexpr std::size_t longest_name = 100;  ///< bytes, as a config file may have
constexpr std::size_t longest_value_in_name = 24;

/// Splits at commas, but not inside JSON: a list, an object or a text in quotation marks.
std::vector<std::string> values_in(const std::string& text) {
  std::vector<std::string> values;
  bool unfinished = false;  // the last value is the beginning of JSON
  for (const std::string& piece : split(text, ",")) {
    if (unfinished)
      values.back() += "," + piece;
    else
      values.push_back(piece);
    const std::string& value = values.back();
    const std::size_t opening = value.find_first_of("[{\"");
    unfinished = opening != value.npos && opening == value.find_first_not_of(' ') && !nlohmann::json::accept(value);
  }
  return values;
}

/// "n_head"
std::string short_key(const std::string& key) {
  const OptionInfo* option = find_option(key);
  return option == nullptr ? key : option->name;
}

/// Removes brackets and quotation marks: ["mlp", "norm"] -> mlp,norm. Empty if the value does not fit into a name.
std::string value_in_name(std::string value) {
  std::erase_if(value, [](char c) { return c == '[' || c == ']' || c == '"' || c == ' '; });
  const bool plain = std::ranges::all_of(value, [](unsigned char c) {
    return (c < 128 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '+' || c == '-' || c == ',';
  });
  return plain && value.size() <= longest_value_in_name ? value : "";
}

/// "n_head=2", for the value at `index`; "n_head=#2" if the value does not fit or two would look equal.
std::string in_name(const VariedOption& option, std::size_t index) {
  const std::string value = value_in_name(option.values[index]);
  const auto alike = std::ranges::count_if(
      option.values, [&value](const std::string& other) { return value_in_name(other) == value; });
  return short_key(option.key) + "=" + (value.empty() || alike > 1 ? "#" + std::to_string(index + 1) : value);
}

/// Loads combination `number` of `count`.
Variant load_variant(const std::string& config, const std::vector<VariedOption>& varied, std::size_t number,
                     std::size_t count, std::span<const Override> overrides) {
  std::vector<Override> all(overrides.begin(), overrides.end());
  Variant variant;
  for (const VariedOption& option : varied) {
    count /= option.values.size();  // combinations with one value of this option and of those before it
    const std::size_t place = number / count % option.values.size();
    all.push_back({option.key, option.values[place], "--vary"});
    variant.levels.push_back(in_name(option, place));
  }
  variant.options = load_config(config, all);
  std::string& name = variant.options.config.name;
  for (const std::string& level : variant.levels) name += " " + level;
  if (name.size() > longest_name)
    throw Error(ExitCode::usage, "the variant \"", printable(name, 2 * longest_name), "\" has a name of ", name.size(),
                " bytes, above the limit of ", longest_name, "; give its config a shorter name, or vary less");
  return variant;
}

/// Appends "-2", "-3", … if an earlier variant has the name or the same folder name.
void make_distinct(std::string& name, std::set<std::string>& taken) {
  const std::string wanted = name;
  for (int n = 2; !taken.insert(one_word(name)).second; ++n) name = wanted + "-" + std::to_string(n);
}

}  // namespace

VariedOption parse_varied(const std::string& given) {
  const std::string said = "--vary " + printable(given);
  const std::size_t equals = given.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error(ExitCode::usage, said, " is not KEY=VALUE,VALUE; for example --vary model.n_layer=2,4,6");
  VariedOption option{given.substr(0, equals), values_in(given.substr(equals + 1))};
  const OptionInfo* named = find_option(option.key);
  if (named != nullptr && named->key() == "train.seed")
    throw Error(ExitCode::usage, said, ": a seed is not a variant; --seeds ", option.values.size(),
                " trains each config with that many seeds");
  for (std::size_t i = 0; i < option.values.size(); ++i) {
    const std::string& value = option.values[i];
    if (value.empty()) throw Error(ExitCode::usage, said, ": value ", i + 1, " is empty");
    if (std::count(option.values.begin(), option.values.end(), value) > 1)
      throw Error(ExitCode::usage, said, ": ", printable(value), " is given twice; give each value once");
  }
  return option;
}

std::string one_word(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return folder_name(std::move(name));
}

std::vector<Variant> load_variants(const std::vector<std::string>& configs, const std::vector<VariedOption>& varied,
                                   std::span<const Override> overrides) {
  std::size_t combinations = 1;
  for (const VariedOption& option : varied) combinations *= option.values.size();
  std::vector<Variant> variants;
  std::set<std::string> names;
  for (const std::string& config : configs)
    for (std::size_t number = 0; number < combinations; ++number) {
      variants.push_back(load_variant(config, varied, number, combinations, overrides));
      make_distinct(variants.back().options.config.name, names);
    }
  return variants;
}

}  // namespace chargpt
