// Figures as people read them.
#include "report/format.h"

#include <nlohmann/json.hpp>

#include "test.h"

using namespace chargpt;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What a format makes of these values.
template <class Value>
Names each(std::string (*format)(Value), const std::vector<Value>& values) {
  Names shown;
  for (const Value value : values) shown.push_back(format(value));
  return shown;
}

TEST_CASE("a number that is rounded to zero has no sign") {
  CHECK(each<double>([](double value) { return format_fixed(value, 2); }, {-1e-17, -0.0, -0.006, -infinity}) ==
        Names{"0.00", "0.00", "-0.01", "-inf"});
}

TEST_CASE("bytes are shown in decimal units with two or three digits") {
  CHECK(each<std::int64_t>(format_bytes, {0, 999, 1000, 1500, 45'100'000, 9'949, 9'950, 999'499, 999'500,
                                          std::numeric_limits<std::int64_t>::max()}) ==
        Names{"0 B", "999 B", "1.0 kB", "1.5 kB", "45 MB", "9.9 kB", "10 kB", "999 kB", "1.0 MB", "9.2 EB"});
}

TEST_CASE("counts get a comma every three digits") {
  CHECK(each<std::int64_t>(format_count, {0, 999, 1000, 804096, 1234567890, -100, -1000}) ==
        Names{"0", "999", "1,000", "804,096", "1,234,567,890", "-100", "-1,000"});
}

TEST_CASE("rates are shown with three leading digits at most") {
  CHECK(each<double>(format_short, {0, 7.24, 99.95, 812.4, 999.6, 9995, 45213, 1'350'000, 1e22, nan_value}) ==
        Names{"0.0", "7.2", "100", "812", "1.00k", "10.0k", "45.2k", "1.35M", "10000E", "nan"});
}

TEST_CASE("durations are shown in their two largest units") {
  CHECK(each<double>(format_duration, {0, 0.84, 9.95, 42.4, 59.6, 200, 3599.6, 7500, 86399.6, 3 * 86400 + 4 * 3600, -1,
                                       nan_value, infinity}) ==
        Names{"0.0 s", "0.8 s", "10 s", "42 s", "1 min 00 s", "3 min 20 s", "1 h 00 min", "2 h 05 min", "1 d 0 h",
              "3 d 4 h", "unknown", "unknown", "unknown"});
}

TEST_CASE("a loss is shown with its bits per token and perplexity") {
  CHECK(each<double>([](double nats) { return format_loss(nats); }, {1.6912, 0, 20, 1000, nan_value, infinity}) ==
        Names{"1.6912 (2.440 bits, ppl 5.43)", "0.0000 (0.000 bits, ppl 1.00)", "20.0000 (28.854 bits, ppl 4.85e+08)",
              "1000.0000 (1442.695 bits, ppl inf)", "nan", "inf"});
}

TEST_CASE("figures that are not finite have names") {
  CHECK(format_fixed(1.25, 1) == "1.2");
  CHECK(format_fixed(std::numeric_limits<double>::max(), 0).size() == 309);
}

TEST_CASE("foreign JSON may nest 16 levels; brackets in strings do not count") {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + "\"[{\\\"[\"" + std::string(levels, ']');
  };
  CHECK_FALSE(foreign_json(nested(16)).is_discarded());
  CHECK(foreign_json(nested(17)).is_discarded());
  CHECK(foreign_json("{\"a\":").is_discarded());
}
