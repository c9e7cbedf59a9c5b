// A training that several processes share: they join, check that all were given the same run, and end together.
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

/// The processes of a training: this one, or those that mpirun or srun has started with it. All but rank 0 are silent.
class ProcessGroup {
 public:
  /// Joins the others, if there are any; one that does not answer for the time that the arguments say hangs. Errors: as
  /// join().
  explicit ProcessGroup(const TrainingArguments& arguments);

  Communicator& ranks() const { return *ranks_; }
  bool alone() const { return ranks_->alone(); }
  bool first() const { return ranks_->first(); }
  /// Threads of each rank, as many as were asked for; and why so many.
  std::int64_t threads() const { return threads_; }
  const std::string& device() const { return device_; }  ///< as asked for, or the GPU of this rank
  /// Error usage where a text is standard input, which one rank has.
  void refuse_standard_input(const Config& config) const;
  /// Error usage or data, the same line on every rank, unless all were given the same config, text and program, and
  /// each has a window of every micro-batch.
  void check(const Config& config, const Corpus& corpus) const;
  /// From here on a failure says how to continue this run.
  void trains(const std::filesystem::path& run) { *run_ = run; }
  /// "2 ranks, each with 4 of the 8 windows and 1 thread (…)"; empty where there is one.
  std::string notice(const Config& config) const;

  /// Runs `work` on every rank. A failure of one ends all, with its line and its exit code.
  void run(const std::function<void()>& work) const;

 private:
  /// How to continue after a failure; empty where nothing was saved.
  static std::string go_on_from(const std::filesystem::path& run);

  std::shared_ptr<std::filesystem::path> run_ = std::make_shared<std::filesystem::path>();
  std::unique_ptr<Communicator> ranks_;
  std::int64_t threads_ = 0;
  std::string placement_, device_;
};

}  // namespace chargpt
