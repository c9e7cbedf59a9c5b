// Training shared by several processes: they join, check that all have the same run, and end together.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "text/corpus.h"
#include "train/communicator.h"

namespace chargpt {

struct TrainingArguments;

/// The processes of a training: only this one, or all that mpirun or srun started. All but rank 0 are silent.
class ProcessGroup {
 public:
  /// Joins the other processes, if any. One that does not answer for arguments.rank_timeout seconds is an error.
  /// Errors: as join().
  explicit ProcessGroup(const TrainingArguments& arguments);

  Communicator& ranks() const { return *ranks_; }
  bool alone() const { return ranks_->alone(); }
  bool first() const { return ranks_->first(); }
  /// Threads of each rank: as given, or chosen by threads_of_rank().
  std::int64_t threads() const { return threads_; }
  const std::string& device() const { return device_; }  ///< as given, or the GPU of this rank
  /// Throws Error usage if a text is standard input, which only one rank can read.
  void refuse_standard_input(const Config& config) const;
  /// Throws Error usage or data, the same on every rank, unless all have the same config, text and program and each
  /// gets a window of every micro-batch.
  void check(const Config& config, const Corpus& corpus) const;
  /// Failures after this call report how to continue this run.
  void trains(const std::filesystem::path& run) { *run_ = run; }
  /// "2 ranks, each with 4 of the 8 windows and 1 thread"; empty for one rank.
  std::string notice(const Config& config) const;

  /// Runs `work` on every rank. A failure on one rank ends all, with its message and exit code.
  void run(const std::function<void()>& work) const;

 private:
  /// How to continue after a failure; empty if nothing was saved.
  static std::string go_on_from(const std::filesystem::path& run);

  std::shared_ptr<std::filesystem::path> run_ = std::make_shared<std::filesystem::path>();
  std::unique_ptr<Communicator> ranks_;
  std::int64_t threads_ = 0;
  std::string device_;
};

}  // namespace chargpt
