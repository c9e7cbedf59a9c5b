// `inspect TEXT`: the contents of a text, and how hard it is to predict.
#pragma once

#include <string>

#include "report/report.h"

namespace chargpt {

/// {"kind":"text","path","characters","symbol_counts",…,"baselines"}, for a file, a
/// folder, or - (standard input); "baselines" is null if nothing is held out. For people the dozen most frequent
/// symbols, or with `all` every symbol. Errors: as load_corpus().
Report report_of_text(const std::string& path, bool all);

}  // namespace chargpt
