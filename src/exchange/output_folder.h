// Where an export is written: beside its place, under another name, and given its own when it is whole. Knows no
// format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_folder.h"
#include "checkpoint/safetensors.h"

namespace chargpt {

/// {"format": "chargpt export", "version": 1, "files": […]}: what tells that an export wrote a folder. Its list is for
/// people: names that stand in a file are never removed.
inline constexpr const char* export_mark = "export.json";

class OutputFolder {
 public:
  /// What may be replaced, with --overwrite, is what an earlier export wrote.
  struct Replaces {
    std::span<const std::string_view> names{};                         ///< of the format's files in a folder
    bool (*is_own_file)(const std::filesystem::path& path) = nullptr;  ///< of a format that is one file
  };
  /// `out` is the folder to come; with `replaces.is_own_file` the file. Error busy where something is there, but for an
  /// empty folder, or with `overwrite` what an export wrote: a folder with its mark that holds no other names than the
  /// format's, a file that says so itself. Errors: io.
  OutputFolder(const std::filesystem::path& out, bool overwrite, const Replaces& replaces);
  /// Removes what was not finished.
  ~OutputFolder() { remove_temporary(); }
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
  void remove_temporary() const;
  bool is_export(const OpenFolder& folder) const;
  void check_there(const std::filesystem::path& shown) const;

  std::filesystem::path out_, temporary_;
  bool overwrite_;
  Replaces replaces_;
  std::vector<std::string> files_;
  std::uint64_t bytes_ = 0;
};

}  // namespace chargpt
