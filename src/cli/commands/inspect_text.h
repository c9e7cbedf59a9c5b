// What a text holds, and how hard it is to predict: for `inspect TEXT`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/arguments.h"

namespace chargpt {

/// {"kind":"text","path","characters","symbols","lines","line_ends","symbol_counts",…,"baselines"}: of a file, a
/// folder, or - for standard input; "baselines" is null where nothing is held out. Errors: as load_corpus.
nlohmann::ordered_json describe_text(const std::string& path, const OutputArguments& output);

/// The same for people; the dozen most frequent symbols, or `all`.
void print_text_description(const nlohmann::ordered_json& json, bool all);

}  // namespace chargpt
