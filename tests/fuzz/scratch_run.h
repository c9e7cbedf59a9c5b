// A run on disk, one file of which is foreign: what the program does with a file after its reader has let it through.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "run/checkpoint.h"

namespace chargpt {

/// In memory (/dev/shm) where the system has that; gone at the end of the process.
class ScratchRun {
 public:
  ScratchRun();
  ~ScratchRun();
  ScratchRun(const ScratchRun&) = delete;
  ScratchRun& operator=(const ScratchRun&) = delete;

  /// Opens the run as inspect, runs, sample and resume do, with `bytes` for its checkpoint.
  void open_with(std::string_view bytes) const;
  /// The same with `text` for one field of the checkpoint's metadata, and checksums that agree, as a stranger would
  /// write it.
  void open_with_field(const std::string& name, std::string_view text) const;
  /// Goes on with foreign metrics after a step, and writes a row of each kind; what is in the file then.
  std::string metrics_resumed(std::string_view foreign, std::int64_t step) const;

  /// A foreign file in the run's folder, for readers of paths; beside it lies base.json, a small config.
  std::filesystem::path file(const std::string& name, std::string_view bytes) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  void open() const;

  std::filesystem::path path_, checkpoint_;
  std::string own_;  ///< the checkpoint as it was saved
};

}  // namespace chargpt
