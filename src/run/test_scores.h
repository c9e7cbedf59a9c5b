// RUN/test.json, hostile until read: how often the run's test split was scored. Knows no split.
#pragma once

#include <cstdint>
#include <filesystem>

namespace chargpt {

/// 0 where there is no such file. Error data where it is damaged, io where it cannot be read.
std::int64_t test_scores(const std::filesystem::path& run);

/// One more is about to be made: how many that makes; 0 where the folder is no run, which keeps no record. Errors: as
/// test_scores, io where it cannot be written.
std::int64_t count_test_score(const std::filesystem::path& run);

}  // namespace chargpt
