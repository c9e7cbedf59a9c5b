// What an earlier start of a comparison has left in the folder of one of its runs: whether it is that run, and the
// length that it settled. Trains nothing.
#pragma once

#include <filesystem>

#include "config/load.h"

namespace chargpt {

/// RUN/config.json. Errors: missing, data.
ResolvedConfig config_of_earlier(const std::filesystem::path& run);

/// A length once settled stays: `wanted` goes on with the schedule of `kept`.
void keep_length(ResolvedConfig& wanted, const ResolvedConfig& kept);

/// Error busy where the folder holds another run than one of `wanted`, naming an option that differs, or foreign files.
void refuse_another_run(const std::filesystem::path& run, const Config& wanted);

}  // namespace chargpt
