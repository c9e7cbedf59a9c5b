// A folder held open: what is in it is reached from the descriptor, through no link, whatever takes the folder's place.
// The one place that opens a run's files. Knows nothing of what they hold.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace chargpt {

/// Names are of entries of the folder itself: one with a slash, "." or ".." is Error data.
class OpenFolder {
 public:
  /// Follows links. Implicit: functions that take an OpenFolder also take its path. Error io where there is no such
  /// folder, or it cannot be opened.
  OpenFolder(std::filesystem::path path);  // NOLINT(google-explicit-constructor)

  /// The path that it was opened by.
  const std::filesystem::path& path() const { return path_; }
  /// Whether that still leads to it. True where the disk does not answer.
  bool is_at_path() const { return is_at(path_, folder_); }
  /// Error io where it does not: it was renamed or removed.
  void check() const;

  /// A folder in it; none where nothing or a file has that name. Error data where it is a link, io where it cannot be
  /// opened.
  std::optional<OpenFolder> find(const std::string& name) const;
  /// The same, made where it is not there. Error io where that cannot be done, or another thing has that name.
  OpenFolder make(const std::string& name) const;
  /// In ascending order. Errors: io.
  std::vector<std::string> entries() const;
  /// Of the entry itself: a link is a link. not_found where there is none. Errors: io.
  std::filesystem::file_type type(const std::string& name) const;

  /// A regular file, to be read: opened without following a link or waiting for a pipe. Errors: missing, data, io.
  Descriptor open(const std::string& name) const;
  std::string read(const std::string& name, std::uint64_t max_bytes = UINT64_MAX) const;
  /// Whole or absent; what has that name is replaced, a link too. Errors: io.
  void write(const std::string& name, std::string_view bytes) const;
  /// A new file, to be written. Error io if anything has that name.
  Descriptor create(const std::string& name) const;

  // Each returns 0, or the system's reason.
  int rename(const std::string& from, const std::string& to) const { return move(from, *this, to); }
  int move(const std::string& from, const OpenFolder& folder, const std::string& to) const;
  /// Swaps two names in one step.
  int exchange(const std::string& one, const std::string& other) const;
  int remove_file(const std::string& name) const;
  int remove_folder(const std::string& name) const;  ///< an empty one

  /// Waits until names are on the disk. Errors: io.
  void sync() const;
  int descriptor() const { return folder_.number(); }

 private:
  friend std::unique_ptr<OpenFolder> open_if_there(const std::filesystem::path& path);
  OpenFolder(std::filesystem::path path, Descriptor folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  std::filesystem::path path_;
  Descriptor folder_;
};

/// None where there is no such folder yet, and where `path` is empty.
std::unique_ptr<OpenFolder> open_if_there(const std::filesystem::path& path);

/// What is in a folder, in ascending order; none where there is no such folder. Errors: io.
std::vector<std::string> entries_of(const std::filesystem::path& path);

}  // namespace chargpt
