// Catch2 (v2 or v3) for tests. A test that needs torch includes its torch headers before this one: c10 defines CHECK
// and its relatives as Catch does, and whoever comes last wins silently; here Catch wins.
#pragma once
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
