// The error for an unknown key: it names the option that was probably meant, or what to use instead of another
// program's key or of an option that is gone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/source.h"

namespace chargpt {

/// An option that earlier versions had, and what to use instead.
struct GoneOption {
  std::string_view section, name, instead;
};
inline constexpr std::string_view counts_instead =
    "use eval --counts and sample --counts, which mix counted n-grams into the predictions";
inline constexpr GoneOption gone_options[] = {
    {"model", "attention", "leave it out: attention is fused wherever it can be"},
    {"model", "ngram_orders", counts_instead},
    {"model", "ngram_rows", counts_instead},
    {"model", "ngram_size", counts_instead},
};
/// Null where `section`.`key` never was an option, or is one. Any section if `section` is empty.
const GoneOption* find_gone(std::string_view section, std::string_view key);

/// What to use instead of a key of nanoGPT or another trainer: "use the flag --run DIR"; empty for any other key.
std::string replacement_of(std::string_view foreign_key);

/// data, model, train, eval, sample.
const std::vector<std::string>& section_names();

/// Error usage for `section`.`key` = `value`, or plain `key` if section is empty; opens with `place`.
[[noreturn]] void reject_unknown(const std::string& place, const std::string& section, const std::string& key,
                                 const Value& value);

/// The same for a key beside the sections.
[[noreturn]] void reject_unknown_at_top(const std::string& place, const std::string& key, const Value& value);

}  // namespace chargpt
