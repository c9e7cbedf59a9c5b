// `--vary KEY=VALUE,VALUE`: the combinations of options that a comparison goes through, each a config of its own that
// is named by what it differs in. Trains nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/load.h"

namespace chargpt {

/// An option and the values that it takes in turn, as they were given.
struct VariedOption {
  std::string key;
  std::vector<std::string> values;
};

/// "model.n_head=1,2,4". Commas within brackets, braces and quotation marks separate nothing, so that a value may be
/// JSON. Error usage: no key, an empty value, a value given twice, the name or train.seed as key.
VariedOption parse_varied(const std::string& given);

/// A config of a comparison.
struct Variant {
  ResolvedConfig options;
  std::vector<std::string> levels = {};  ///< of each varied option: "n_head=2"

  const std::string& name() const { return options.config.name; }
};

/// A folder's name that a shell takes as one word: "default n_head=2" -> "default-n_head=2".
std::string one_word(std::string name);

/// Each of `configs` (presets or paths) with every combination of the values of `varied`, the last option changing
/// fastest; each of them alone where nothing is varied. Named "default n_head=2 dropout=0.1"; a value that is long or
/// not fit for a folder's name is given by its number, "groups=#2"; a second config of one name becomes NAME-2. Errors:
/// as load_config, for `overrides` and values alike; usage for more than 1,000 variants, two values that mean the same,
/// and a name above 100 bytes.
std::vector<Variant> load_variants(const std::vector<std::string>& configs, const std::vector<VariedOption>& varied,
                                   std::span<const Override> overrides);

}  // namespace chargpt
