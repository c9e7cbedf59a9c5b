// The trainer as one of several ranks: all make the same calls in the same order, whatever becomes of one of them.
#include "train/communicator.h"

#include "failure.h"
#include "small_run.h"

using namespace chargpt;

namespace {

/// One of two ranks, alone. The first keeps what it says; the second runs after it and hears that.
class OneOfTwo : public Communicator {
 public:
  using Bytes = std::vector<std::byte>;
  explicit OneOfTwo(const OneOfTwo* first = nullptr) : first_(first) {}
  int rank() const override { return first_ == nullptr ? 0 : 1; }
  int ranks() const override { return 2; }
  void sum(std::span<float>) override { said("sum", {}); }
  std::vector<Bytes> gather(std::span<const std::byte> own) override {
    const Bytes& of_first = said("gather", own);
    if (first_ == nullptr) return {of_first};
    return {of_first, Bytes(own.begin(), own.end())};
  }

  std::size_t calls() const { return first_ == nullptr ? kept_.size() : heard_; }

 private:
  /// By the first rank, in this call.
  const Bytes& said(const std::string& call, std::span<const std::byte> own) {
    if (first_ == nullptr) return kept_.emplace_back(call, Bytes(own.begin(), own.end())).second;
    REQUIRE(heard_ < first_->kept_.size());
    REQUIRE(call == first_->kept_[heard_].first);
    return first_->kept_[heard_++].second;
  }

  const OneOfTwo* first_;
  std::vector<std::pair<std::string, Bytes>> kept_;
  std::size_t heard_ = 0;
};

TrainerOptions as(OneOfTwo& rank, const std::filesystem::path& run = {}) {
  TrainerOptions options;
  options.run = run;
  options.ranks = &rank;
  return options;
}

}  // namespace

TEST_CASE_METHOD(TestFolder, "ranks that save nothing stay in step with the first one, whose saves fail") {
  ResolvedConfig config = timed_config(3600);
  config.config.train.max_iters = 12;
  config.config.eval.eval_interval = 6;
  write("checkpoints", "a file where the checkpoints should be");
  OneOfTwo first, second(&first);
  const auto saving = timed_run(config, std::make_shared<FakeClock>(), as(first, path()));
  CHECK(error_of([&] { saving->trainer.run(); }).code == ExitCode::io);
  CHECK(saving->recorder->noticed("; training goes on"));
  CHECK(timed_run(config, std::make_shared<FakeClock>(), as(second))->trainer.run() == Ending::finished);
  CHECK(second.calls() == first.calls());
}

TEST_CASE("ranks measure as many steps for a plan as the first one, whatever their clocks say") {
  OneOfTwo first, second(&first);
  const auto measure = [](OneOfTwo& rank, double slower) {
    const auto clock = std::make_shared<FakeClock>();
    clock->slower = [slower](const WorkEvent&) { return slower; };
    timed_run(small_config(), clock, as(rank))->trainer.plan(/*measure=*/true);
  };
  measure(first, 1);
  measure(second, 20);
  CHECK(second.calls() == first.calls());
}

const auto other_start = data_error(
    "rank 1 starts from another step or other weights than rank 0, or has other teachers; give all the same files");

TEST_CASE("a rank that starts from other weights than the first one is refused before the first step") {
  OneOfTwo first, second(&first);
  SmallRun(small_config(), as(first)).trainer.run();
  SmallRun other(small_config(), as(second));
  other.trainer.arena().values.data()[0] += 1;
  CHECK(error_of([&] { other.trainer.run(); }) == other_start);
  CHECK(other.recorder->plans.empty());
}

TEST_CASE_METHOD(TestFolder, "a rank whose teacher has other weights than the first one's is refused") {
  const auto student_of = [this](std::int64_t seed) {
    ResolvedConfig teacher = small_config(), student = small_config();
    const std::filesystem::path folder = path() / std::to_string(seed);
    std::filesystem::create_directories(folder);
    teacher.config.train.seed = seed;
    SmallRun(teacher, folder).trainer.run();
    student.config.train.teacher = {folder.string()};
    return student;
  };
  OneOfTwo first, second(&first);
  SmallRun(student_of(1), as(first)).trainer.run();
  SmallRun other(student_of(2), as(second));
  CHECK(error_of([&] { other.trainer.run(); }) == other_start);
}
