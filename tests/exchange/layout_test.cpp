// Tensors of another program's file as ours: what their bits stand for, and which rows of theirs are which of ours.
#include "exchange/layout.h"

#include <cstdint>

#include "test_folder.h"

namespace chargpt {
namespace {

/// A file that another program wrote, of these tensors.
ForeignTensors foreign(const TestFolder& folder, const std::vector<TensorView>& tensors) {
  return ForeignTensors(folder.write("model.safetensors", safetensors_bytes(tensors)));
}

template <class Number>
TensorView tensor(const std::string& name, const std::string& type, const std::vector<Number>& numbers) {
  return {name, type, {std::ssize(numbers), 1}, std::as_bytes(std::span(numbers))};
}

}  // namespace

// IEEE 754: 5 bits of exponent, whose bias is 15, and 10 of fraction; without an exponent, multiples of 2^-24.
TEST_CASE_METHOD(TestFolder, "half precision is read exactly, also below its smallest normal number") {
  const std::vector<std::uint16_t> bits = {0x3C00, 0xC000, 0x3555, 0x7BFF, 0x0400, 0x03FF, 0x0001, 0x8001};
  ForeignTensors file = foreign(*this, {tensor("theirs", "F16", bits)});
  CHECK(file.read("theirs", {8, 1}, "ours").values ==
        Floats{1, -2, 1365 / 4096.F, 65504, 0x1p-14F, 1023 * 0x1p-24F, 0x1p-24F, -0x1p-24F});
}

TEST_CASE_METHOD(TestFolder, "bfloat16 is the upper half of a float") {
  const std::vector<std::uint16_t> bits = {0x3F80, 0xC000, 0x4049, 0x0080};
  ForeignTensors file = foreign(*this, {tensor("theirs", "BF16", bits)});
  CHECK(file.read("theirs", {4, 1}, "ours").values == Floats{1, -2, 3.140625F, 0x1p-126F});
}

TEST_CASE_METHOD(TestFolder, "heads that share keys and values are neighbours, and each gets a copy") {
  const Floats q = {1, 2, 3, 4, 5, 6, 7, 8}, k = {10, 11, 20, 21}, v = {30, 31, 40, 41};  // 4 heads of 2, and 2 of 2
  ForeignTensors file = foreign(*this, {tensor("k", "F32", k), tensor("q", "F32", q), tensor("v", "F32", v)});
  const Parameter ours{.name = "c_attn", .shape = {24, 1}};
  const std::vector<LayoutRow> rows = {{.theirs = "q", .ours = ours, .part = 0, .parts = 3},
                                       {.theirs = "k", .ours = ours, .part = 1, .parts = 3},
                                       {.theirs = "v", .ours = ours, .part = 2, .parts = 3}};
  const std::vector<OwnTensor> all = tensors_as_ours(file, rows, {.symbols = {}, .heads = 4, .shared_heads = 2});
  REQUIRE(all.size() == 1);
  CHECK(all[0].values ==
        Floats{1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 10, 11, 20, 21, 20, 21, 30, 31, 30, 31, 40, 41, 40, 41});
}

TEST_CASE_METHOD(TestFolder, "a gain that we lack is left out where it is 1, and else refused") {
  const LayoutRow row{.theirs = "gain", .ours = {.name = "", .shape = {2, 1}}};
  ForeignTensors ones = foreign(*this, {tensor("gain", "F32", Floats{1, 1})});
  CHECK(tensors_as_ours(ones, {row}, {}).empty());
  ForeignTensors other = foreign(*this, {tensor("gain", "F32", Floats{1, 2})});
  CHECK_THROWS_WITH(tensors_as_ours(other, {row}, {}), Catch::Contains("gain is not all ones"));
}

}  // namespace chargpt
