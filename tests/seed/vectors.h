// The worked examples of tests/golden/seed_vectors.json as tensors, and how a result is compared with one. Includes
// torch before test.h, as it must be. Knows no model.
#pragma once

#include <torch/types.h>

#include <nlohmann/json.hpp>
#include <set>

#include "test.h"

namespace chargpt::seed {

/// A file of tests/golden, parsed; fails the test where it is not there.
nlohmann::json golden_file(const std::string& name);

/// Numbers, "-inf", "inf" and "nan" in nested lists -> a float64 tensor of that shape.
torch::Tensor to_tensor(const nlohmann::json& value);

/// One worked example. Every accessor fails the test, naming the vector and the key, where the file has no such entry.
class Vector {
 public:
  Vector(const nlohmann::json& entry, torch::ScalarType dtype) : entry_(entry), dtype_(dtype) {}
  const nlohmann::json& json() const { return entry_; }
  /// A float tensor of the vector's dtype; `path` may go deeper: "block0/ffn_W1".
  torch::Tensor input(const std::string& path) const;
  /// Ids: int64.
  torch::Tensor ids(const std::string& path) const;
  /// Any other input, by its path.
  const nlohmann::json& value(const std::string& path) const;
  const nlohmann::json& expected(const std::string& path) const;
  torch::ScalarType dtype() const { return dtype_; }
  double tolerance() const;

  /// Fails unless shape, infinities and NaNs are those of expected/<name> and every number is within the tolerance;
  /// and, where the document prints the figure, unless it rounds to what is printed.
  void check(const std::string& name, const torch::Tensor& actual) const;
  void check(const std::string& name, double actual) const;

 private:
  void check_printed(const std::string& name, const torch::Tensor& actual) const;
  const nlohmann::json& entry_;
  torch::ScalarType dtype_;
};

/// By its whole id; fails the test where there is none.
Vector vector(const std::string& id, torch::ScalarType dtype = torch::kFloat32);

/// In float64, where a formula must be right to nine digits, and in float32, which the program computes in.
std::vector<Vector> in_both_precisions(const std::string& id);

/// Ids of the whole file.
std::set<std::string> vector_ids();

/// Ids that a VECTOR_CASE of this program names.
std::set<std::string>& covered_ids();

/// Largest absolute difference; infinity where shapes differ.
double largest_difference(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace chargpt::seed

/// A test case of the vector `v` in float32; `id` without quotes, and "<id>: <behaviour>" is its name. Listed for the
/// test that none is left out.
#define VECTOR_CASE(id, behaviour, ...) \
  VECTOR_CASE_OF(id, #id ": " behaviour, "[vector]" __VA_ARGS__, std::vector{chargpt::seed::vector(#id)})

/// The same in both precisions.
#define VECTOR_CASES(id, behaviour) \
  VECTOR_CASE_OF(id, #id ": " behaviour, "[vector]", chargpt::seed::in_both_precisions(#id))

#define VECTOR_CASE_OF(id, name, tags, vectors)                                                      \
  [[maybe_unused]] static const bool covered_##id = chargpt::seed::covered_ids().insert(#id).second; \
  static void check_##id(const chargpt::seed::Vector& v);                                            \
  TEST_CASE(name, tags) {                                                                            \
    for (const auto& v : vectors) check_##id(v);                                                     \
  }                                                                                                  \
  static void check_##id([[maybe_unused]] const chargpt::seed::Vector& v)
