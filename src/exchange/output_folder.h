// Where an export is written: beside its place, under another name, and given its own when it is whole. Knows no
// format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"

namespace chargpt {

/// {"format": "chargpt export", "version": 1, "files": […]}: what tells that an export wrote a folder.
inline constexpr const char* export_mark = "export.json";

class OutputFolder {
 public:
  /// `out` is the folder to come; with `one_file` the file. Error busy where something is there, but for an empty
  /// folder, or with `overwrite` what an export wrote: a folder that holds its files and no others, a file that begins
  /// with `magic`. Errors: io.
  OutputFolder(const std::filesystem::path& out, bool one_file, bool overwrite, std::string_view magic = {});
  /// Removes what was not finished.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  void write(const std::string& name, std::string_view text);
  /// `write_to` hands the bytes to the sink piece by piece.
  void write(const std::string& name, const std::function<void(const ByteSink& sink)>& write_to);
  /// The export appears under its name, whole, in place of what it replaces. Errors: io.
  void finish();

  /// Written so far.
  const std::vector<std::string>& files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void put_folder();
  void put_file();

  std::filesystem::path out_, temporary_;
  bool one_file_, overwrite_, finished_ = false;
  std::vector<std::string> files_;
  std::uint64_t bytes_ = 0;
};

}  // namespace chargpt
