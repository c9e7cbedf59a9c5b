// Figures as people read them.
#include "report/format.h"

#include "test.h"

using namespace chargpt;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST_CASE("a clock has minutes and seconds, and hours where there are any") {
  CHECK(format_clock(0.4) == "0:00");
  CHECK(format_clock(42) == "0:42");
  CHECK(format_clock(200) == "3:20");
  CHECK(format_clock(7500) == "2:05:00");
  CHECK(format_clock(4 * 86400) == "4 d 0 h");
  CHECK(format_clock(-1) == "unknown");
}

TEST_CASE("bytes are shown in decimal units with two or three digits") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(1000) == "1.0 kB");
  CHECK(format_bytes(1500) == "1.5 kB");
  CHECK(format_bytes(45'100'000) == "45 MB");
  CHECK(format_bytes(9'949) == "9.9 kB");
  CHECK(format_bytes(9'950) == "10 kB");
  CHECK(format_bytes(999'499) == "999 kB");
  CHECK(format_bytes(999'500) == "1.0 MB");
  CHECK(format_bytes(std::numeric_limits<std::int64_t>::max()) == "9.2 EB");
}

TEST_CASE("counts get a comma every three digits") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(804096) == "804,096");
  CHECK(format_count(1234567890) == "1,234,567,890");
  CHECK(format_count(-100) == "-100");
  CHECK(format_count(-1000) == "-1,000");
}

TEST_CASE("rates are shown with three leading digits at most") {
  CHECK(format_short(0) == "0.0");
  CHECK(format_short(7.24) == "7.2");
  CHECK(format_short(812.4) == "812");
  CHECK(format_short(999.6) == "1.00k");
  CHECK(format_short(45213) == "45.2k");
  CHECK(format_short(1'350'000) == "1.35M");
  CHECK(format_short(nan_value) == "nan");
}

TEST_CASE("durations are shown in their two largest units") {
  CHECK(format_duration(0) == "0.0 s");
  CHECK(format_duration(0.84) == "0.8 s");
  CHECK(format_duration(9.96) == "10 s");
  CHECK(format_duration(42.4) == "42 s");
  CHECK(format_duration(59.6) == "1 min 00 s");
  CHECK(format_duration(200) == "3 min 20 s");
  CHECK(format_duration(7500) == "2 h 05 min");
  CHECK(format_duration(3 * 86400 + 4 * 3600) == "3 d 4 h");
  CHECK(format_duration(-1) == "unknown");
  CHECK(format_duration(nan_value) == "unknown");
  CHECK(format_duration(infinity) == "unknown");
}

TEST_CASE("a loss is shown with its bits per token and perplexity") {
  CHECK(format_loss(1.6912) == "1.6912 (2.440 bits, ppl 5.43)");
  CHECK(format_loss(0) == "0.0000 (0.000 bits, ppl 1.00)");
  CHECK(format_loss(20) == "20.0000 (28.854 bits, ppl 4.85e+08)");
  CHECK(format_loss(1000) == "1000.0000 (1442.695 bits, ppl inf)");
  CHECK(format_loss(nan_value) == "nan");
  CHECK(format_loss(infinity) == "inf");
}

TEST_CASE("figures that are not finite have names") {
  CHECK(format_fixed(1.25, 1) == "1.2");
  CHECK(format_fixed(-infinity, 3) == "-inf");
  CHECK(format_fixed(std::numeric_limits<double>::max(), 0).size() == 309);
}
