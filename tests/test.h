// Catch2 (v2 or v3) for tests. A test that needs torch includes its torch headers before this one: c10 defines CHECK
// and its relatives too, and the later definition replaces the earlier; in this order Catch's stays. A test need not
// include what a header of tests/ includes; this one includes what most tests use.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
namespace Catch {
using Matchers::EndsWith;
using Matchers::StartsWith;
inline auto Contains(const std::string& text) {
  return Matchers::ContainsSubstring(text);
}
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif

namespace chargpt {

using Floats = std::vector<float>;
using Ids = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// Whether one of the lines has that part.
inline bool any_has(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace chargpt
