// The table of formats of other programs. A new one is a file pair here and a row in formats.cpp.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/exported_model.h"
#include "exchange/imported_model.h"
#include "exchange/output_folder.h"

namespace chargpt {

struct Format {
  std::string_view name;            ///< of --format
  std::string_view what;            ///< who reads it
  std::string_view suffix;          ///< of a format that is one file: ".gguf"; empty: a folder
  OutputFolder::Replaces replaces;  ///< what an export of it wrote, which another may replace
  bool with_optimizer;              ///< its writer looks at the optimizer's state
  /// Writes the files of the folder, or the one file. Returns notices: what the other program computes differently.
  /// Error usage, in one line that names the option in the way, where the format cannot hold the model.
  std::vector<std::string> (*write)(const ExportedModel& model, OutputFolder& folder);
  /// Whether a path looks like it; null where the format is only written.
  bool (*recognises)(const std::filesystem::path& path);
  /// Errors: data, missing, io, naming the file and what is wrong with it.
  ImportedModel (*read)(const std::filesystem::path& path);
};

std::span<const Format> formats();
/// The one of that name, which must exist.
const Format& format_of(std::string_view name);

}  // namespace chargpt
