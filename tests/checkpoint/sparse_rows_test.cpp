// Tables of which the rows that are not zero are stored: what goes in comes out, and nothing else is believed.
#include "checkpoint/sparse_rows.h"

#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "failure.h"
#include "test.h"

using namespace chargpt;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// A file of these tensors, and its bytes.
struct Written {
  explicit Written(const std::vector<TensorView>& tensors) {
    write_safetensors([this](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); },
                      tensors);
    file.emplace(bytes, "model.safetensors");
  }
  std::vector<std::byte> bytes;
  std::optional<SafetensorsFile> file;
};

/// Reads table x of 4 rows of 2 that were 9 before.
std::vector<float> read(const Written& written) {
  std::vector<float> out(8, 9.0F);
  read_tensor(*written.file, "m", "x", {4, 2}, std::as_writable_bytes(std::span(out)));
  return out;
}

Written packed(const std::vector<std::int64_t>& rows, const std::vector<float>& values) {
  return Written({{"x.rows", "I64", {std::ssize(rows)}, bytes_of(rows)},
                  {"x.values", "F32", {std::ssize(values) / 2, 2}, bytes_of(values)}});
}

std::string refusal(const Written& written) {
  const Error error = failure_of([&] { read(written); });
  CHECK(error.code() == ExitCode::data);
  return error.what();
}

}  // namespace

TEST_CASE("a weight that is NaN or infinite is named with its place") {
  std::vector<float> weights(20, 1.0F);
  weights[3] = std::numeric_limits<float>::max();
  weights[4] = std::numeric_limits<float>::denorm_min();
  expect_finite(weights, "m", "x");
  expect_finite({}, "m", "x");
  weights[19] = -std::numeric_limits<float>::infinity();
  const auto refusal = [&] { return failure_of([&] { expect_finite(weights, "m", "x"); }); };
  CHECK(refusal().code() == ExitCode::diverged);
  CHECK(std::string(refusal().what()).starts_with("m: tensor x holds infinity at place 19, so "));
  weights[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::string(refusal().what()).starts_with("m: tensor x holds NaN at place 7, so "));
}

TEST_CASE("rows with any bit set are found, a negative zero and the last byte too") {
  const std::vector<float> table{0, 0, 0, 1, 0, 0, -0.0F, 0};
  CHECK(nonzero_rows(bytes_of(table), 8) == std::vector<std::int64_t>{1, 3});
  std::vector<std::byte> wide(3 * 100);  // rows of 100 bytes: one cache line and a rest
  wide[199] = std::byte{1};
  wide[200] = std::byte{1};
  CHECK(nonzero_rows(wide, 100) == std::vector<std::int64_t>{1, 2});
  CHECK(nonzero_rows({}, 8).empty());
}

TEST_CASE("rows are stored where they and their numbers take less than the table") {
  CHECK(worth_packing(98, 100, 128));  // 520 bytes each for 512
  CHECK_FALSE(worth_packing(99, 100, 128));
  CHECK(worth_packing(33, 100, 1));  // 12 bytes for 4
  CHECK_FALSE(worth_packing(34, 100, 1));
}

TEST_CASE("stored rows come back in place, and the others are zero whatever was there") {
  CHECK(read(packed({1, 3}, {1, 2, 3, -0.0F})) == std::vector<float>{0, 0, 1, 2, 0, 0, 3, 0});
  CHECK(read(packed({}, {})) == std::vector<float>(8, 0.0F));
  const std::vector<float> whole{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(read(Written({{"x", "F32", {4, 2}, bytes_of(whole)}})) == whole);
}

TEST_CASE("a negative zero and a NaN keep their bits") {
  const std::vector<float> values{-0.0F, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> out = read(packed({2}, values));
  CHECK(std::memcmp(out.data() + 4, values.data(), 8) == 0);
}

TEST_CASE("the names read are those in the file") {
  std::vector<float> out(8);
  const auto names = [&](const Written& written) {
    return read_tensor(*written.file, "m", "x", {4, 2}, std::as_writable_bytes(std::span(out)));
  };
  CHECK(names(packed({1}, {1, 2})) == std::set<std::string>{"x.rows", "x.values"});
  CHECK(names(Written({{"x", "F32", {4, 2}, bytes_of(out)}})) == std::set<std::string>{"x"});
}

TEST_CASE("rows out of order, repeated, negative or too many are damage") {
  CHECK(refusal(packed({3, 1}, {1, 2, 3, 4})) ==
        "m: tensor x.rows has row 1 at place 1; rows must rise and be less than 4: the file is damaged");
  CHECK(refusal(packed({1, 1}, {1, 2, 3, 4})).find("row 1 at place 1") != std::string::npos);
  CHECK(refusal(packed({-1}, {1, 2})).find("row -1 at place 0") != std::string::npos);
  CHECK(refusal(packed({4}, {1, 2})).find("row 4 at place 0") != std::string::npos);
}

TEST_CASE("values that are missing, too few or of another type are refused by name") {
  const std::vector<std::int64_t> rows{0, 1};
  const std::vector<float> values{1, 2, 3, 4}, few{1, 2};
  CHECK(refusal(Written({{"x.rows", "I64", {2}, bytes_of(rows)}})) ==
        "m has no tensor x.values (F32 (2, 2)); it belongs to another model");
  CHECK(refusal(packed({0, 1}, few)) ==
        "m: tensor x.values is F32 (1, 2) and should be F32 (2, 2); it belongs to another model");
  CHECK(refusal(Written({{"x.rows", "F32", {4}, bytes_of(values)}})) ==
        "m: tensor x.rows is F32 (4) and should be I64 (n)");
  CHECK(refusal(Written({{"y", "F32", {4}, bytes_of(values)}})) ==
        "m has no tensor x (F32 (4, 2)); it belongs to another model");
}
