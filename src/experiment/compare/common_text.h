// The text that all configs of a comparison are trained and scored on. Knows no run's options and trains nothing.
#pragma once

#include <filesystem>
#include <vector>

#include "config/load.h"
#include "text/corpus.h"

namespace chargpt {

/// Where the config names it, or where a run in `out` found it before. Error usage where the configs' texts, units or
/// splits differ; else as load_corpus.
Corpus load_common_text(const std::vector<ResolvedConfig>& configs, const std::filesystem::path& out,
                        const ReadingProgress& reading);

}  // namespace chargpt
