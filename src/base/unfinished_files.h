// What a crash leaves of files that were being written whole (base/files.h), and how it goes.
#pragma once

#include <filesystem>
#include <string_view>

namespace chargpt {

/// Whether a file of this name is one that write_file_atomically had not yet given its own: ".NAME.tmp-PROCESS-NUMBER".
bool is_unfinished_name(std::string_view name);

/// Removes such files of `folder`. Only where no other process is writing there. What cannot be removed stays.
void remove_unfinished_files(const std::filesystem::path& folder);

}  // namespace chargpt
