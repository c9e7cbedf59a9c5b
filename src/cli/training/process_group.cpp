#include "cli/training/process_group.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/training/training.h"
#include "config/describe.h"
#include "engine/device.h"
#include "engine/torch_module.h"
#include "report/format.h"
#include "report/log.h"
#include "run/checkpoints.h"
#include "text/text_listing.h"
#include "train/launch.h"

namespace chargpt {
namespace {

/// Throws Error usage or data, with the first value of rank `rank` that differs from rank 0's.
void check_same_as_first(const nlohmann::json& first, const nlohmann::json& other, std::size_t rank) {
  for (const auto& [key, value] : first.items())
    if (const nlohmann::json its = other.value(key, nlohmann::json()); its != value)
      throw Error(key == "text" ? ExitCode::data : ExitCode::usage, "rank ", rank, " differs from rank 0: ", key, " ",
                  value.dump(), " -> ", its.dump(), "; start all ranks with the same build, options and texts");
}

/// Discards the output of this process from now on.
void mute_output() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, output);
  ::close(nowhere);
}

}  // namespace

ProcessGroup::ProcessGroup(const TrainingArguments& arguments) {
  threads_ = arguments.device.threads;
  device_ = arguments.device.device;
  const auto found = launch();
  if (!found) {
    ranks_ = std::make_unique<Communicator>();
    return;
  }
  WaitingOptions waiting{.seconds = arguments.rank_timeout, .stop = &stop_on_signals(arguments.output.quiet)};
  waiting.stuck = [run = run_, first = found->rank == 0] {
    const std::string line = go_on_from(*run);
    if (first) log_warning("another rank does not answer", line.empty() ? "" : "; if this job is killed, " + line);
  };
  if (found->rank > 0) mute_output();
  ranks_ = join(*found, waiting);
  if (arguments.engine != "cpu" && device_ != "cpu")
    device_ = device_of_rank(device_, found->local,
                             device_ == "cuda" ? torch_module("--device cuda").cuda_devices() : cuda_device_count());
  if (threads_ == 0) threads_ = threads_of_rank(*ranks_);
}

void ProcessGroup::refuse_standard_input(const Config& config) const {
  if (!alone() && std::ranges::count(config.data.text, standard_input_name) > 0)
    throw Error(ExitCode::usage, "--text -: standard input reaches one rank only; name a file that all can read");
}

void ProcessGroup::check(const Config& config, const Corpus& corpus) const {
  if (alone()) return;
  nlohmann::json own = {{"program", program_version()},
                        {"text", line_of(corpus.fingerprint().tokens, " tokens, CRC-64 ", corpus.fingerprint().crc64)}};
  for (const OptionInfo& option : option_table())
    if (option.key() != "data.text") own[option.key()] = option.get(config);  // contents are compared, not names
  const std::string bytes = own.dump();
  std::vector<nlohmann::json> all;
  for (const auto& each : ranks_->gather(std::as_bytes(std::span(bytes)))) {
    const auto* const text = reinterpret_cast<const char*>(each.data());
    all.push_back(nlohmann::json::parse(text, text + each.size()));
  }
  for (std::size_t rank = 1; rank < all.size(); ++rank) check_same_as_first(all.front(), all[rank], rank);
  if (config.train.batch_size < ranks_->ranks())
    throw Error(ExitCode::usage, ranks_->ranks(), " ranks share train.batch_size = ", config.train.batch_size,
                " windows, but each needs one; start fewer, or set a larger batch_size");
}

std::string ProcessGroup::notice(const Config& config) const {
  if (alone()) return "";
  const std::int64_t windows = config.train.batch_size, count = ranks_->ranks(), each = windows / count;
  return line_of(count, " ranks, each with ", each, windows % count == 0 ? "" : line_of(" or ", each + 1), " of the ",
                 windows, " windows and ", format_count(threads_, "thread"));
}

std::string ProcessGroup::go_on_from(const std::filesystem::path& run) {
  if (run.empty() || list_checkpoints(run).empty()) return "";
  return "to continue from the last checkpoint: chargpt resume " + shell_quoted(run.native());
}

void ProcessGroup::run(const std::function<void()>& work) const {
  if (alone()) return work();
  try {
    work();
  } catch (const std::exception& error) {
    const Error failure = failure_of(error);
    report_failure(error);
    if (const std::string line = first() ? go_on_from(*run_) : ""; !line.empty()) log_warning(line);
    std::fflush(nullptr);
    ranks_->fail(static_cast<int>(failure.code()), failure.what());
    throw;
  }
}

}  // namespace chargpt
