// Communicator over MPI, in a library of its own, chargpt-mpi.so, loaded if a launcher started several processes. Calls
// poll instead of blocking in MPI, so that a dead or hanging rank is noticed.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/part.h"
#include "train/communicator.h"

namespace chargpt {
namespace {

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(WaitingOptions waiting) : waiting_(std::move(waiting)) {
    int ready = 0;
    MPI_Initialized(&ready);
    if (ready == 0) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &ready);  // the main thread alone calls MPI
    MPI_Comm_dup(MPI_COMM_WORLD, &work_);
    MPI_Comm_dup(MPI_COMM_WORLD, &failures_);
    MPI_Comm_rank(work_, &rank_);
    MPI_Comm_size(work_, &ranks_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  /// Each rank sums one part, in rank order, and sends it to all. MPI_Allreduce would not guarantee the order of
  /// additions.
  void sum(std::span<float> values) override {
    constexpr std::size_t most = std::size_t{1} << 28;  // MPI counts in int
    for (std::size_t begin = 0; begin < values.size(); begin += most)
      sum_piece(values.subspan(begin, std::min(most, values.size() - begin)));
  }

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own) override {
    const auto size = static_cast<int>(own.size());
    std::vector<int> sizes(count()), begins(count());
    MPI_Request request{};
    MPI_Iallgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, work_, &request);
    wait(request);
    std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0);
    std::vector<std::byte> all(static_cast<std::size_t>(begins.back() + sizes.back()));
    MPI_Iallgatherv(own.data(), size, MPI_BYTE, all.data(), sizes.data(), begins.data(), MPI_BYTE, work_, &request);
    wait(request);
    std::vector<std::vector<std::byte>> each;
    for (std::size_t i = 0; i < count(); ++i)
      each.emplace_back(all.begin() + begins[i], all.begin() + begins[i] + sizes[i]);
    return each;
  }

  void fail(int code, const std::string& line) override {
    if (rank_ > 0) {
      MPI_Request request{};
      MPI_Isend(line.data(), static_cast<int>(line.size()), MPI_BYTE, 0, code, failures_, &request);
      constexpr double until_ended = 5;
      int sent = 0;
      for (const double begun = steady_seconds(); steady_seconds() - begun < until_ended; ::usleep(1000))
        if (sent == 0) MPI_Test(&request, &sent, MPI_STATUS_IGNORE);
    }
    MPI_Abort(MPI_COMM_WORLD, code);
  }

  void finish() override {
    MPI_Request request{};
    MPI_Ibarrier(work_, &request);
    wait(request);
    MPI_Finalize();
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(ranks_); }

  void sum_piece(std::span<float> values) {
    std::vector<int> sizes(count()), begins(count());
    for (std::size_t i = 0; i < count(); ++i) {
      const Part part = part_of(std::ssize(values), ranks_, static_cast<std::int64_t>(i));
      sizes[i] = static_cast<int>(part.size);
      begins[i] = static_cast<int>(part.begin);
    }
    const auto own = static_cast<std::size_t>(rank_), size = static_cast<std::size_t>(sizes[own]);
    std::vector<int> own_sizes(count(), sizes[own]), own_begins(count());
    for (std::size_t i = 0; i < count(); ++i) own_begins[i] = static_cast<int>(i * size);
    parts_.resize(count() * size);
    MPI_Request request{};
    MPI_Ialltoallv(values.data(), sizes.data(), begins.data(), MPI_FLOAT, parts_.data(), own_sizes.data(),
                   own_begins.data(), MPI_FLOAT, work_, &request);
    wait(request);
    float* const sums = values.data() + begins[own];
    std::copy_n(parts_.data(), size, sums);
    for (std::size_t i = 1; i < count(); ++i)
      for (std::size_t j = 0; j < size; ++j) sums[j] += parts_[i * size + j];
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, values.data(), sizes.data(), begins.data(), MPI_FLOAT, work_, &request);
    wait(request);
  }

  void wait(MPI_Request& request) {
    constexpr int eager = 2000;      // polls before the thread starts to sleep
    constexpr double at_once = 0.3;  // s
    const double begun = steady_seconds();
    for (int polls = 1;; ++polls) {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      if (polls % 64 == 0) look_for_failures();
      const double waited = steady_seconds() - begun;
      if (waited > at_once && waiting_.stuck && waiting_.stop != nullptr && waiting_.stop->load()) {
        waiting_.stuck();
        waiting_.stuck = {};
      }
      if (waited > waiting_.seconds) throw late();
      polls < eager ? static_cast<void>(::sched_yield()) : static_cast<void>(::usleep(100));
    }
  }

  Error late() const {
    return {ExitCode::io, "rank " + std::to_string(rank_) + " of " + std::to_string(ranks_) + " waited " +
                              std::to_string(static_cast<long>(waiting_.seconds)) +
                              " s for the other ranks; one of them is hanging (--rank-timeout)"};
  }

  void look_for_failures() {
    if (rank_ > 0) return;
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, failures_, &there, &status);
    if (there == 0) return;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::string line(static_cast<std::size_t>(size), '\0');
    MPI_Recv(line.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, failures_, MPI_STATUS_IGNORE);
    throw Error(static_cast<ExitCode>(status.MPI_TAG), "rank " + std::to_string(status.MPI_SOURCE) + ": " + line);
  }

  WaitingOptions waiting_;
  MPI_Comm work_ = MPI_COMM_NULL, failures_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
  std::vector<float> parts_;
};

}  // namespace
}  // namespace chargpt

extern "C" __attribute__((visibility("default"))) chargpt::Communicator* chargpt_make_communicator_2(
    const chargpt::WaitingOptions& waiting) {
  return new chargpt::MpiCommunicator(waiting);
}
