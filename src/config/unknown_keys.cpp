#include "config/unknown_keys.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/decode.h"
#include "config/foreign_keys.h"
#include "config/kinds.h"
#include "config/load.h"

namespace chargpt {
namespace {

constexpr std::string_view counts_instead =
    "use eval --counts and sample --counts, which mix counted n-grams into the predictions";

constexpr std::array gone{
    GoneOption{"model", "attention", "leave it out: attention is fused wherever it can be"},
    GoneOption{"model", "ngram_orders", counts_instead},
    GoneOption{"model", "ngram_rows", counts_instead},
    GoneOption{"model", "ngram_size", counts_instead},
};

/// What to say about an unknown key: the option that was probably meant, or where the options are listed.
std::string suggestion(const std::string& section, const std::string& key) {
  std::vector<std::string> here, anywhere, full;
  for (const OptionInfo& option : option_table()) {
    full.push_back(option.section + "." + option.name);
    anywhere.push_back(option.name);
    if (option.section == section) here.push_back(option.name);
  }
  const auto meant = [&](std::size_t row) { return "; did you mean " + full[row] + "?"; };
  const auto row_of = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(anywhere.begin(), anywhere.end(), name) - anywhere.begin());
  };
  if (const std::size_t row = row_of(key); row < full.size()) return meant(row);
  if (const auto replacement = replacement_of(key)) return ": " + *replacement;
  if (const auto near = nearest_name(key, here)) return "; did you mean " + section + "." + *near + "?";
  if (const auto near = nearest_name(key, anywhere)) return meant(row_of(*near));
  return "; chargpt train --help lists the options";
}

}  // namespace

std::span<const GoneOption> gone_options() {
  return gone;
}

const GoneOption* find_gone(std::string_view section, std::string_view key) {
  const auto found = std::ranges::find_if(gone, [&](const GoneOption& option) {
    return option.name == key && (section.empty() || section == option.section);
  });
  return found == gone.end() ? nullptr : &*found;
}

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> sections;
    const Config config;
    Config::visit(config, [&](const char* name, const auto&) { sections.emplace_back(name); });
    return sections;
  }();
  return names;
}

void reject_unknown(const std::string& place, const std::string& section, const std::string& key, const Value& value) {
  const std::string full = (section.empty() ? "" : section + ".") + key;
  if (const GoneOption* const option = find_gone(section, key))
    throw Error(ExitCode::usage, place, ": ", option->section, ".", key, " is gone; ", option->instead);
  throw Error(ExitCode::usage, place, ": ", printable(full), " = ", shown(value), " is not an option",
              suggestion(section, key));
}

void reject_unknown_at_top(const std::string& place, const std::string& key, const Value& value) {
  if (value.kind != Value::Kind::object) reject_unknown(place, "", key, value);
  const std::string near = did_you_mean(key, section_names());
  throw Error(ExitCode::usage, place, ": ", printable(key), " = {...} is not a section",
              near.empty() ? "; the sections are " + joined(section_names(), ", ") : near);
}

}  // namespace chargpt
