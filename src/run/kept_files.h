// Small files of JSON that a run keeps beside its checkpoints, hostile until read:
//   RUN/test.json     how often its test split was scored
//   RUN/figures.json  what its best checkpoint was found to be worth
//   RUN/adapt.json    how its network adapts (cli/runs/adaptation.h)
// Knows no split, no figure and no network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/checkpoint.h"

namespace chargpt {

/// A file's name and what its "format" says; "version" is 1.
struct KeptFile {
  const char *name, *format;
};
/// None where there is none. Error data where it is damaged or no such file, io where it cannot be read.
std::optional<nlohmann::json> kept_json(const std::filesystem::path& run, const KeptFile& file);
/// Writes `fields` behind format and version; nothing where the folder is no run. Errors: io.
void keep_json(const std::filesystem::path& run, const KeptFile& file, const nlohmann::ordered_json& fields);

/// 0 where there is no such file. Errors as kept_json.
std::int64_t test_scores(const std::filesystem::path& run);
/// One more is about to be made: how many that makes; 0 where the folder is no run, which keeps no record. Errors: as
/// test_scores, io where it cannot be written.
std::int64_t count_test_score(const std::filesystem::path& run);

/// What figures.json holds, where it is an object that tells of this checkpoint's step; else null. Never an Error:
/// figures that cannot be read are only left out.
nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint);

}  // namespace chargpt
