// The safetensors format: bytes of the reference implementation, and everything a hostile file may try.
#include "run/safetensors.h"

#include <array>

#include "base/files.h"
#include "failure.h"
#include "test_folder.h"

using namespace chargpt;
using namespace std::string_literals;

namespace {

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string little_endian(std::uint64_t value) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
  return out;
}

std::string file_of(const std::string& header, const std::string& data = "") {
  return little_endian(header.size()) + header + data;
}

/// A header with one tensor 'x' of these dtype, shape and offsets.
std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"x":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

std::string refusal_of(const std::string& file) {
  return message_of(ExitCode::data, [&] { parse_safetensors(as_bytes(file), "m"); });
}

/// Everything a file says, as one text.
std::string contents(const SafetensorsFile& file) {
  std::string text;
  for (const auto& [key, value] : file.metadata) text += key + "=" + value + "\n";
  for (const TensorView& tensor : file.tensors) {
    text += tensor.name + " " + tensor.dtype;
    for (const auto extent : tensor.shape) text += " " + std::to_string(extent);
    text += ": " + to_text(tensor.bytes) + "\n";
  }
  return text;
}

// Written by the Python package safetensors 0.8 (safetensors.numpy.save with metadata {"format": "pt"}) from
// b = [[1, 2], [3, 4]], a = [0.5], s = 2.5, none = zeros (0, 3) float32, ids = [7, -1] int64, h = [1.5] float16,
// u = [1, 2, 3] uint8.
const std::string reference_file =
    "\xa8\x01\0\0\0\0\0\0"s +
    R"({"__metadata__":{"format":"pt"},"ids":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[16,20]},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[20,36]},)"
    R"("none":{"dtype":"F32","shape":[0,3],"data_offsets":[36,36]},"s":{"dtype":"F32","shape":[],"data_offsets":[36,40]},)"
    R"("h":{"dtype":"F16","shape":[1],"data_offsets":[40,42]},"u":{"dtype":"U8","shape":[3],"data_offsets":[42,45]}} )" +
    "\x07\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x3f\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\x20\x40\0\x3e\1\2\3"s;

}  // namespace

TEST_CASE("the writer gives the bytes of the reference implementation, whatever the order given") {
  const std::array<float, 4> b = {1, 2, 3, 4};
  const float a = 0.5, s = 2.5;
  const std::array<std::int64_t, 2> ids = {7, -1};
  const std::array<std::uint8_t, 2> h = {0x00, 0x3e};
  const std::array<std::uint8_t, 3> u = {1, 2, 3};
  std::vector<TensorView> tensors = {{"u", "U8", {3}, std::as_bytes(std::span(u))},
                                     {"b", "F32", {2, 2}, std::as_bytes(std::span(b))},
                                     {"s", "F32", {}, std::as_bytes(std::span(&s, 1))},
                                     {"h", "F16", {1}, std::as_bytes(std::span(h))},
                                     {"none", "F32", {0, 3}, {}},
                                     {"a", "F32", {1}, std::as_bytes(std::span(&a, 1))},
                                     {"ids", "I64", {2}, std::as_bytes(std::span(ids))}};
  for (int order = 0; order < 2; ++order) {
    CHECK(safetensors_bytes(reference_order(tensors)) == reference_file);
    std::reverse(tensors.begin(), tensors.end());
  }
}

TEST_CASE_METHOD(TestFolder, "what is read of a reference file is written to its bytes again") {
  const SafetensorsFile file = read_safetensors(write("m", reference_file));
  CHECK(safetensors_bytes(file.tensors) == reference_file);
  CHECK(file.metadata == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(to_text(find_tensor(file.tensors, "u")->bytes) == "\1\2\3");
  CHECK(find_tensor(file.tensors, "nothing") == nullptr);
}

TEST_CASE("a file without tensors, and metadata of one's own, can be written and read") {
  const std::string file = safetensors_bytes({}, {{"step", "5"}});
  CHECK(file == file_of(R"({"__metadata__":{"format":"pt","step":"5"}}     )"));
  CHECK(contents(parse_safetensors(as_bytes(file), "m")) == "format=pt\nstep=5\n");
  CHECK(parse_safetensors(as_bytes(file_of("{}")), "m").tensors.empty());
}

TEST_CASE("the writer refuses what it could not read back") {
  const std::string bytes = "12345678";
  const auto code_of = [](const std::vector<TensorView>& tensors) {
    return error_of([&] { safetensors_bytes(tensors); }).code;
  };
  CHECK(code_of({{"x", "F32", {3}, as_bytes(bytes)}}) == ExitCode::internal);
  CHECK(code_of({{"x", "F33", {2}, as_bytes(bytes)}}) == ExitCode::internal);
  CHECK(code_of({{"x", "F32", {-1, -2}, as_bytes(bytes)}}) == ExitCode::internal);
  CHECK(code_of({{"x", "F32", {2}, as_bytes(bytes)}, {"x", "F32", {2}, as_bytes(bytes)}}) == ExitCode::internal);
  CHECK(code_of({{"__metadata__", "F32", {2}, as_bytes(bytes)}}) == ExitCode::internal);
}

TEST_CASE("sizes that do not fit the file are refused before anything is read by them") {
  CHECK(refusal_of("") == "m is not a safetensors file: shorter than 8 bytes");
  CHECK(refusal_of(little_endian(1)) ==
        "m is not a safetensors file: a header of 1 bytes in a file of 8; it may have been cut short");
  CHECK(refusal_of(little_endian(UINT64_MAX) + "{}") ==
        "m is not a safetensors file: a header of 18446744073709551615 bytes; the limit is 10000000");
  CHECK(refusal_of(little_endian(10'000'001) + "{}") ==
        "m is not a safetensors file: a header of 10000001 bytes; the limit is 10000000");
  CHECK(refusal_of(little_endian(10'000'000) + "{}") ==
        "m is not a safetensors file: a header of 10000000 bytes in a file of 10; it may have been cut short");
}

TEST_CASE("a header that is not a JSON object is refused") {
  CHECK(refusal_of(file_of("")) == "m: the header is not a JSON object");
  CHECK(refusal_of(file_of(" {}")) == "m: the header is not a JSON object");
  CHECK(refusal_of(file_of("[]")) == "m: the header is not a JSON object");
  CHECK_THAT(refusal_of(file_of("{")),
             Catch::StartsWith("m: the header: not JSON: "));  // strictly: state_json_test.cpp
}

TEST_CASE("an entry has exactly dtype, shape and data_offsets, metadata are strings") {
  CHECK(refusal_of(file_of(R"({"x":[]})")) == "m: the header's 'x' is not a JSON object");
  CHECK(refusal_of(file_of(R"({"x":{"dtype":"F32","data_offsets":[0,0]}})")) ==
        "m: the header's 'x': field 'shape' is missing");
  CHECK(refusal_of(file_of(R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"more":1}})")) ==
        "m: the header's 'x' has other fields than dtype, shape and data_offsets");
  CHECK(refusal_of(file_of(R"({"__metadata__":{"a":1}})")) ==
        "m: the header's '__metadata__': field 'a' is 1, not a string");
  CHECK(refusal_of(file_of(R"({"__metadata__":[]})")) == "m: the header's '__metadata__' is not a JSON object");
}

TEST_CASE("dtype, shape and offsets are of their types") {
  const std::string shapes = ", not a list of 0 to 16 whole numbers of at least 0";
  CHECK(refusal_of(file_of(one_tensor("[1]", "[0]", "[0,0]"))) ==
        "m: the header's 'x': field 'dtype' is [1], not a string");
  for (const std::string shape : {"0", "[-1]", "[1.0]", "[\"1\"]", "[[1]]", "[9223372036854775808]"})
    CHECK(refusal_of(file_of(one_tensor("\"F32\"", shape, "[0,0]"))) ==
          "m: the header's 'x': field 'shape' is " + shape + shapes);
  CHECK(refusal_of(file_of(one_tensor("\"F32\"", "[1e0]", "[0,4]"), "1234")).ends_with(shapes));
  for (const std::string offsets : {"[0]", "[0,0,0]", "[0,-1]", "[0,18446744073709551615]"})
    CHECK(refusal_of(file_of(one_tensor("\"F32\"", "[0]", offsets))) ==
          "m: the header's 'x': field 'data_offsets' is " + offsets +
              ", not a list of 2 to 2 whole numbers of at least 0");
}

TEST_CASE("shapes are limited, their products checked") {
  std::string rank_16 = "[0";
  for (int i = 1; i < 16; ++i) rank_16 += ",1";
  CHECK(parse_safetensors(as_bytes(file_of(one_tensor("\"F32\"", rank_16 + "]", "[0,0]"))), "m").tensors.size() == 1);
  CHECK(refusal_of(file_of(one_tensor("\"F32\"", rank_16 + ",1]", "[0,0]"))).find("0 to 16 whole") !=
        std::string::npos);
  const std::string wrong_size = "m: tensor 'x' has 0 bytes, which is not what its shape and dtype take";
  CHECK(refusal_of(file_of(one_tensor("\"F32\"", "[4611686018427387904]", "[0,0]"))) == wrong_size);  // * 4 wraps to 0
  CHECK(refusal_of(file_of(one_tensor("\"U8\"", "[4294967296,4294967296]", "[0,0]"))) == wrong_size);
  CHECK(refusal_of(file_of(one_tensor("\"U8\"", "[4294967296,4294967296,0]", "[0,0]"))) == wrong_size);
}

TEST_CASE("tensors fill the data without gap or overlap") {
  const auto two = [](const std::string& first, const std::string& second) {
    return file_of(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
                       R"(},"y":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}",
                   "abcd");
  };
  CHECK(contents(parse_safetensors(as_bytes(two("[2,4]", "[0,2]")), "m")) == "y U8 2: ab\nx U8 2: cd\n");
  const std::string empty_first = file_of(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                          R"("y":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                                          "ab");
  CHECK(contents(parse_safetensors(as_bytes(empty_first), "m")) == "y U8 0: \nx U8 2: ab\n");
  CHECK(refusal_of(two("[0,2]", "[1,3]")) ==
        "m: tensor 'y' lies at bytes 1 to 3, which leaves a gap, overlaps another or passes 4, the end");
  CHECK(refusal_of(two("[0,2]", "[0,2]")).find("lies at bytes 0 to 2") != std::string::npos);
  CHECK(refusal_of(two("[1,3]", "[3,5]")).find("'x' lies at bytes 1 to 3") != std::string::npos);
  CHECK(refusal_of(two("[0,2]", "[3,5]")).find("'y' lies at bytes 3 to 5") != std::string::npos);
  CHECK(refusal_of(two("[0,2]", "[2,1]")).find("'y' lies at bytes 2 to 1") != std::string::npos);
  CHECK(refusal_of(two("[0,2]", "[2,9223372036854775807]")).find("passes 4, the end") != std::string::npos);
  CHECK(refusal_of(file_of(one_tensor("\"U8\"", "[2]", "[0,2]"), "abc")) == "m: 1 bytes after the last tensor");
  CHECK(refusal_of(file_of("{}", "abc")) == "m: 3 bytes after the last tensor");
  CHECK(refusal_of(file_of(one_tensor("\"U8\"", "[2]", "[0,3]"), "abc")) ==
        "m: tensor 'x' has 3 bytes, which is not what its shape and dtype take");
  CHECK(refusal_of(file_of(one_tensor("\"F4\"", "[2]", "[0,1]"), "a")) == "m: tensor 'x' has the unknown dtype 'F4'");
}

TEST_CASE("foreign names in messages are escaped and cut") {
  CHECK(refusal_of(file_of(R"({"\u001b[2J":1})")) == "m: the header's '\\x1B[2J' is not a JSON object");
  const std::string line = refusal_of(file_of("{\"" + std::string(100'000, 'n') + "\":1}"));
  CHECK(line.size() < 200);
}

TEST_CASE_METHOD(TestFolder, "of a file may be read what precedes the optimizer's tensors, and its header alone") {
  const std::string bytes = file_of(
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"optimizer.m":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
      "abc");
  const fs::path file = write("m", bytes);
  CHECK(contents(read_safetensors(file, FilePart::weights)) == "a=b\nw U8 2: ab\n");
  CHECK(*read_safetensors(file, FilePart::weights).owner == bytes.substr(0, bytes.size() - 1));
  CHECK(contents(read_safetensors(file)) == contents(parse_safetensors(as_bytes(bytes), "m")));
  CHECK(contents(read_safetensors(file, FilePart::header)) == "a=b\n");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    fs::resize_file(file, size);
    CHECK(error_of([&] { read_safetensors(file, FilePart::header); }).code == ExitCode::data);
    write("m", bytes);
  }
}

TEST_CASE("a weight that is NaN or infinite is named with its place") {
  std::vector<float> weights(20, 1.0F);
  weights[3] = std::numeric_limits<float>::max();
  weights[4] = std::numeric_limits<float>::denorm_min();
  expect_finite(weights, "m", "x");
  expect_finite({}, "m", "x");
  weights[19] = -std::numeric_limits<float>::infinity();
  const auto refusal = [&] { return message_of(ExitCode::diverged, [&] { expect_finite(weights, "m", "x"); }); };
  CHECK_THAT(refusal(), Catch::StartsWith("m: tensor x holds infinity at place 19, so "));
  weights[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(refusal(), Catch::StartsWith("m: tensor x holds NaN at place 7, so "));
}
