// `--vary KEY=VALUE,VALUE`: expands configs into one variant per combination of option values, named after these
// values. Does not train.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// An option and the values to try, as given.
struct VariedOption {
  std::string key;
  std::vector<std::string> values;
};

/// Parses "model.n_head=1,2,4". A value that begins with a bracket, brace or quotation mark is JSON: its commas do not
/// separate. Throws Error usage if the key is missing, name or train.seed, or a value is empty or given twice.
VariedOption parse_varied(const std::string& given);

/// A config of a comparison.
struct Variant {
  ResolvedConfig options;
  std::vector<std::string> levels = {};  ///< of each varied option: "n_head=2"

  const std::string& name() const { return options.config.name; }
};

/// Makes a folder name that a shell reads as one word: "default n_head=2" -> "default-n_head=2".
std::string one_word(std::string name);

/// Loads each of `configs` (presets or paths) with every combination of the values of `varied`, the last option
/// changing fastest; the configs alone if `varied` is empty. Names: "default n_head=2 dropout=0.1"; a value that is
/// long or unfit for a folder name becomes its number, "groups=#2"; a repeated name becomes NAME-2. Errors: as
/// load_config(), for `overrides` and values; usage for a name above 100 bytes.
std::vector<Variant> load_variants(const std::vector<std::string>& configs, const std::vector<VariedOption>& varied,
                                   std::span<const Override> overrides);

}  // namespace chargpt
