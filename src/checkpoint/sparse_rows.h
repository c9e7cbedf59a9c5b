// Tensors of which many rows are zero, in a safetensors file: in place of NAME, a table of floats, the file has
// NAME.rows (n,) I64, rising, and NAME.values (n, width) F32, its rows with any bit set. Nothing is lost: what is read
// is what was there, bit for bit. No torch.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace chargpt {

std::string rows_name(const std::string& name);    ///< "NAME.rows"
std::string values_name(const std::string& name);  ///< "NAME.values"

/// Rows of a table of `row_bytes` (at least 1) each that have any bit set, rising.
std::vector<std::int64_t> nonzero_rows(std::span<const std::byte> table, std::size_t row_bytes);

/// Whether `stored` rows with their numbers take less than all of them, in floats of `width` a row.
bool worth_packing(std::int64_t stored, std::int64_t rows, std::int64_t width);

/// Copies tensor `name` (F32 of `shape`) from `file` into `out`, whichever way it is stored; rows that are not stored
/// become zero (and are not written where they are). Returns the names in the file. Error data, naming `source` and the
/// tensor, unless it is there whole, of that shape and type, its rows rising and in range.
std::set<std::string> read_tensor(const SafetensorsFile& file, const std::string& source, const std::string& name,
                                  const std::vector<std::int64_t>& shape, std::span<std::byte> out);

/// The tensor of that name. Error data, naming `source`, what is expected and what is there.
const TensorView& expect_tensor(const SafetensorsFile& file, const std::string& source, const std::string& name,
                                const std::string& dtype, const std::vector<std::int64_t>& shape);

/// Error diverged (80), naming `source` and the tensor, where one of a model's weights is NaN or infinite: whatever is
/// computed from them would be too.
void expect_finite(std::span<const float> weights, const std::string& source, const std::string& name);

}  // namespace chargpt
