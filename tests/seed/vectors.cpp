// Reads seed_vectors.json once and compares tensors with its entries.
#include "vectors.h"
#include "source_path.h"

#include <fstream>

namespace chargpt::seed {
namespace {

const nlohmann::json& file() {
  static const nlohmann::json parsed = golden_file("seed_vectors.json");
  return parsed;
}

/// Sizes of nested lists, from the first entry of each.
std::vector<std::int64_t> shape_of(const nlohmann::json& value) {
  std::vector<std::int64_t> shape;
  for (const nlohmann::json* level = &value; level->is_array(); level = &(*level)[0]) {
    shape.push_back(static_cast<std::int64_t>(level->size()));
    if (level->empty()) break;
  }
  return shape;
}

void flatten(const nlohmann::json& value, std::vector<double>& numbers) {
  if (value.is_array()) {
    for (const auto& entry : value) flatten(entry, numbers);
  } else {
    numbers.push_back(value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>());
  }
}

const nlohmann::json& at_path(const nlohmann::json& entry, const std::string& section, const std::string& path) {
  const nlohmann::json::json_pointer pointer("/" + section + "/" + path);
  INFO(entry["id"].get<std::string>() << pointer.to_string());
  REQUIRE(entry.contains(pointer));
  return entry.at(pointer);
}

/// Differences, with 0 where both are the same infinity or both NaN.
torch::Tensor difference(const torch::Tensor& a, const torch::Tensor& b) {
  const auto same = (a == b) | (a.isnan() & b.isnan());
  const auto distance = torch::where(same, torch::zeros_like(a), (a - b).abs());
  return torch::nan_to_num(distance, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
}

}  // namespace

nlohmann::json golden_file(const std::string& name) {
  const std::string path = source_path("/tests/golden/" + name);
  std::ifstream in(path);
  INFO(path);
  REQUIRE(in.good());
  return nlohmann::json::parse(in);
}

torch::Tensor to_tensor(const nlohmann::json& value) {
  std::vector<double> numbers;
  flatten(value, numbers);
  return torch::tensor(numbers, torch::kFloat64).reshape(shape_of(value));
}

torch::Tensor Vector::input(const std::string& path) const {
  return to_tensor(value(path)).to(dtype_);
}

torch::Tensor Vector::ids(const std::string& path) const {
  return to_tensor(value(path)).to(torch::kInt64);
}

const nlohmann::json& Vector::value(const std::string& path) const {
  return at_path(entry_, "inputs", path);
}

const nlohmann::json& Vector::expected(const std::string& path) const {
  return at_path(entry_, "expected", path);
}

double Vector::tolerance() const {
  return entry_["tolerance"][dtype_ == torch::kFloat64 ? "float64_abs" : "float32_abs"].get<double>();
}

void Vector::check(const std::string& name, const torch::Tensor& actual) const {
  const auto wanted = to_tensor(expected(name));
  const auto got = actual.detach().to(torch::kFloat64);
  INFO(entry_["id"].get<std::string>() << " " << name << " in " << torch::toString(dtype_));
  INFO("expected\n" << wanted << "\nactual\n" << got);
  REQUIRE(got.sizes() == wanted.sizes());
  CHECK(largest_difference(got, wanted) <= tolerance());
  check_printed(name, got);
}

void Vector::check(const std::string& name, double actual) const {
  check(name, torch::tensor(actual, torch::kFloat64));
}

void Vector::check_printed(const std::string& name, const torch::Tensor& actual) const {
  if (!entry_.contains("printed") || !entry_["printed"].contains(name) || !entry_.contains("printed_decimals")) return;
  auto visible = actual;
  const auto printed = to_tensor(entry_["printed"][name]);  // the document may cut off later rows, and leaves out NaNs
  if (printed.dim() > 0) visible = visible.narrow(0, 0, printed.size(0));
  const double half_a_digit = 0.5 * std::pow(10.0, -entry_["printed_decimals"].get<int>());
  const auto distance = torch::where(printed.isnan(), torch::zeros_like(printed), (visible - printed).abs());
  INFO("printed\n" << printed);
  CHECK(distance.max().item<double>() <= half_a_digit + tolerance());
}

Vector vector(const std::string& id, torch::ScalarType dtype) {
  for (const auto& entry : file()["vectors"])
    if (entry["id"] == id) return {entry, dtype};
  FAIL("tests/golden/seed_vectors.json has no vector " << id);
  throw std::logic_error("unreachable");
}

std::vector<Vector> in_both_precisions(const std::string& id) {
  return {vector(id, torch::kFloat64), vector(id, torch::kFloat32)};
}

std::set<std::string> vector_ids() {
  std::set<std::string> ids;
  for (const auto& entry : file()["vectors"]) ids.insert(entry["id"].get<std::string>());
  return ids;
}

std::set<std::string>& covered_ids() {
  static std::set<std::string> ids;
  return ids;
}

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  if (a.sizes() != b.sizes()) return std::numeric_limits<double>::infinity();
  return difference(a.to(torch::kFloat64), b.to(torch::kFloat64)).max().item<double>();
}

TEST_CASE("every worked example has a test case that names it", "[vector]") {
  CHECK(covered_ids() == vector_ids());
}

}  // namespace chargpt::seed
