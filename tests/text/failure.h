// What tests of texts need besides Catch: the Error of an action, and a folder that is gone afterwards.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "test.h"

namespace chargpt {

/// Exit code and line of the Error that `action` ends with; {ok, ""} where it ends without.
template <class Action>
std::pair<ExitCode, std::string> error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::ok, ""};
}

inline std::pair<ExitCode, std::string> data_error(std::string line) {
  return {ExitCode::data, std::move(line)};
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "chargpt-text-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file and returns its path.
  std::string file(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace chargpt
