// What a text holds, and how hard it is to predict: for `inspect TEXT`.
#pragma once

#include <string>

#include "cli/arguments.h"
#include "report/report.h"

namespace chargpt {

/// {"kind":"text","path","characters","symbols","lines","line_ends","symbol_counts",…,"baselines"}: of a file, a
/// folder, or - for standard input; "baselines" is null where nothing is held out. For people the dozen most frequent
/// symbols, or `all`. Errors: as load_corpus.
Report report_of_text(const std::string& path, const OutputArguments& output, bool all);

}  // namespace chargpt
