// A folder held open, so that it is still found when it, or one above it, was renamed. Knows nothing of what is in it.
#pragma once

#include <filesystem>
#include <memory>

namespace chargpt {

class OpenFolder {
 public:
  /// Error io where there is no such folder, or it cannot be opened.
  explicit OpenFolder(std::filesystem::path path);
  ~OpenFolder();
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  /// Where it is now: the path that it was opened by, unless something else or nothing is there. Error io where it is
  /// nowhere: removed, or moved to another disk.
  const std::filesystem::path& path();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// None where there is no such folder yet, and where `path` is empty.
std::unique_ptr<OpenFolder> open_if_there(const std::filesystem::path& path);

}  // namespace chargpt
