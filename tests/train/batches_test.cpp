#include "train/batches.h"

#include <numeric>
#include <set>

#include "base/error.h"

#include "token_text.h"

using namespace chargpt;

namespace {

/// Token i of the split is i mod 256.
std::vector<std::uint8_t> counting(std::size_t size) {
  std::vector<std::uint8_t> ids(size);
  std::iota(ids.begin(), ids.end(), std::uint8_t{0});
  return ids;
}

TrainConfig drawn(std::int64_t batch_size, std::int64_t micro_batches, Windows windows, std::int64_t seed) {
  return {.batch_size = batch_size, .gradient_accumulation_steps = micro_batches, .windows = windows, .seed = seed};
}

/// Starts of the windows of one epoch, where an epoch is a whole number of steps.
std::vector<std::int64_t> epoch_starts(const BatchSource& source, std::int64_t epoch, std::int64_t steps) {
  std::vector<std::int64_t> starts;
  for (std::int64_t step = epoch * steps; step < (epoch + 1) * steps; ++step)
    for (const std::int64_t start : source.starts(step)) starts.push_back(start);
  return starts;
}

}  // namespace

TEST_CASE("targets are inputs one token later, in each micro-batch") {
  const std::vector<std::uint8_t> split = counting(200);
  const BatchSource source(view_of(split), 8, drawn(3, 2, Windows::random, 1));
  const std::vector<std::int64_t> starts = source.starts(5);
  const std::vector<WindowBatch> batches = source.micro_batches(starts);
  REQUIRE(batches.size() == 2);
  for (const WindowBatch& batch : batches) {
    REQUIRE(batch.B() == 3);
    REQUIRE(batch.T == 8);
    std::vector<std::int64_t> inputs(3 * 8), targets(3 * 8);
    batch.copy_inputs(inputs.data());
    batch.copy_targets(targets.data());
    for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(targets[i] == inputs[i] + 1);
  }
  CHECK(batches[1].starts[0] == starts[3]);
}

TEST_CASE("batches are a pure function of seed and step") {
  const std::vector<std::uint8_t> split = counting(1000);
  for (const Windows windows : {Windows::random, Windows::shuffled}) {
    const BatchSource source(view_of(split), 8, drawn(4, 2, windows, 7)),
        again(view_of(split), 8, drawn(4, 2, windows, 7)), other(view_of(split), 8, drawn(4, 2, windows, 8));
    CHECK(source.starts(31) == again.starts(31));
    CHECK(source.starts(31) == source.starts(31));
    CHECK(source.starts(31) != source.starts(32));
    CHECK(source.starts(31) != other.starts(31));
  }
}

TEST_CASE("random windows reach the first and the last place and no further") {
  const std::vector<std::uint8_t> split = counting(12);
  const BatchSource source(view_of(split), 8, drawn(64, 1, Windows::random, 1));
  const std::vector<std::int64_t> starts = source.starts(0);
  CHECK(std::set(starts.begin(), starts.end()) == std::set<std::int64_t>{0, 1, 2, 3});  // 3 + 8 is the last token
}

TEST_CASE("shuffled windows: each epoch visits each window once, from an offset of its own") {
  const std::vector<std::uint8_t> split = counting(8 * 12 + 5);
  const BatchSource source(view_of(split), 8, drawn(3, 2, Windows::shuffled, 3));
  REQUIRE(source.windows_per_epoch() == 12);
  std::set<std::vector<std::int64_t>> orders;
  std::set<std::int64_t> offsets;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<std::int64_t> starts = epoch_starts(source, epoch, 2);
    orders.insert(starts);
    std::sort(starts.begin(), starts.end());
    offsets.insert(starts.front());
    INFO("epoch " << epoch << " from " << starts.front());
    CHECK(starts.front() >= 0);
    CHECK(starts.front() < 8);
    CHECK(starts.back() + 8 < std::ssize(split));
    for (std::size_t i = 1; i + 1 < starts.size(); ++i) CHECK(starts[i] - starts[i - 1] == 8);
    CHECK(starts[11] - starts[10] > 0);  // the last may be moved back, but is never a repetition
    CHECK(starts[11] - starts[10] <= 8);
  }
  CHECK(orders.size() == 20);
  CHECK(offsets.size() > 4);  // of 8
}

TEST_CASE("a batch that an epoch cannot fill goes on with the next epoch") {
  const std::vector<std::uint8_t> split = counting(8 * 5 + 1);
  const BatchSource pairs(view_of(split), 8, drawn(2, 1, Windows::shuffled, 3)),
      singles(view_of(split), 8, drawn(1, 1, Windows::shuffled, 3));
  for (std::int64_t i = 0; i < 20; ++i)
    CHECK(pairs.starts(i / 2)[static_cast<std::size_t>(i % 2)] == singles.starts(i)[0]);
}

TEST_CASE("windows of documents: parts of a long one move each epoch, the last one begins where there is room") {
  std::vector<std::uint8_t> ids{0, 1, 0};
  ids.insert(ids.end(), 39, 2);
  for (const std::uint8_t id : {0, 3, 0, 4, 4, 4, 0, 5, 5, 5, 5, 5, 5, 0}) ids.push_back(id);
  const BatchSource source(view_of(ids, /*document=*/0), 8, drawn(8, 1, Windows::shuffled, 3));
  REQUIRE(source.windows_per_epoch() == 8);
  std::set<std::int64_t> offsets;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    std::vector<std::int64_t> starts = source.starts(epoch);
    std::sort(starts.begin(), starts.end());
    const std::int64_t offset = 10 - starts[2];
    offsets.insert(offset);
    CHECK((0 <= offset && offset < 8));
    // those at 2 and 34 hold the long document's begin and end, and 48 would be too late for the last
    CHECK(starts == std::vector<std::int64_t>{0, 2, 10 - offset, 18 - offset, 26 - offset, 34, 42, 44});
  }
  CHECK(offsets.size() > 2);
  const BatchSource random(view_of(ids, /*document=*/0), 8, drawn(64, 1, Windows::random, 3));
  std::set<std::int64_t> places{0, 2, 34, 42, 44}, found;
  for (std::int64_t begin = 3; begin <= 26; ++begin) places.insert(begin);
  for (std::int64_t step = 0; step < 40; ++step)
    for (const std::int64_t start : random.starts(step)) found.insert(start);
  CHECK(found == places);
}

TEST_CASE("windows of documents: the end of a long last one is a window") {
  std::vector<std::uint8_t> ids(22, 2);
  ids.front() = ids.back() = 0;
  const BatchSource source(view_of(ids, /*document=*/0), 8, drawn(3, 1, Windows::shuffled, 3));
  REQUIRE(source.windows_per_epoch() == 3);
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    const std::vector<std::int64_t> starts = source.starts(epoch);
    CHECK(*std::ranges::min_element(starts) == 0);
    CHECK(*std::ranges::max_element(starts) == 13);  // 13 + 8 is the last token
  }
}

TEST_CASE("a split of exactly one window works in both modes, one token less is an error") {
  const std::vector<std::uint8_t> split = counting(9), shorter = counting(8);
  for (const Windows windows : {Windows::random, Windows::shuffled}) {
    CHECK(BatchSource(view_of(split), 8, drawn(2, 1, windows, 1)).starts(3) == std::vector<std::int64_t>{0, 0});
    CHECK_THROWS_AS(BatchSource(view_of(shorter), 8, drawn(2, 1, windows, 1)), Error);
  }
}

TEST_CASE("the order of an epoch is a permutation for every size, and mixes") {
  for (std::int64_t count = 1; count <= 300; ++count) {
    std::set<std::int64_t> places;
    for (std::int64_t i = 0; i < count; ++i) places.insert(permuted(i, count, 99));
    CHECK(std::ssize(places) == count);
    CHECK(*places.rbegin() == count - 1);
  }
  double moved = 0;  // mean distance of a random permutation of n: n / 3
  for (std::int64_t i = 0; i < 10000; ++i) moved += std::abs(static_cast<double>(permuted(i, 10000, 5) - i));
  CHECK(moved / 10000 == Approx(10000 / 3.0).epsilon(0.03));
}
