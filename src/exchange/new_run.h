// An imported model becomes a run, which sample, eval, inspect and train --init_from take.
#pragma once

#include <filesystem>
#include <string>

#include "exchange/imported_model.h"

namespace chargpt {

/// Writes config and checkpoint into the folder of a run that has begun. Error internal where the parameters are not
/// those of the config: whoever read them should have said so.
void write_imported_run(const std::filesystem::path& run, const ImportedModel& model,
                        const std::string& program_version);

}  // namespace chargpt
