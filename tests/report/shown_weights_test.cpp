// Colours by surprise, blocks of weights, lines of blocks.
#include "report/charts/heat_map.h"

#include "test.h"

namespace chargpt {
namespace {

TEST_CASE("surprise is coloured from half a chance on, and colours change only where the level does") {
  CHECK(colored_by_surprise({{"a", 0.1}, {"b", 0.69}}) == "ab");
  CHECK(colored_by_surprise({{"a", 1}, {"b", 1.5}, {"c", 9}, {"d", 0}}) ==
        "\x1b[30;48;5;229mab\x1b[30;48;5;203mc\x1b[0md");
  CHECK(colored_by_surprise({{"a", 1.6}}) == "\x1b[30;48;5;222ma\x1b[0m");
  CHECK(colored_by_surprise({{"\x1b", 0}}) == "\\x1b");
}

TEST_CASE("in HTML symbols are text, never markup") {
  CHECK(marked_by_surprise({{"<", 0}, {"&", 3.5}}) == "&lt;<b class=s3 title=\"3.50\">&amp;</b>");
}

TEST_CASE("weights are blocks by their share of the largest, as wide as their symbols") {
  const std::vector<std::string> symbols = {"a", "字", "c"};
  const std::vector<float> weights = {0.5F, 0.25F, 0, 0, 0, 1, 0, 0, 0};  // of three heads
  CHECK(heads_text(weights, symbols) ==
        "            a字c\n    head 1  █▄▄   50.0 % to a\n    head 2     █  100.0 % to c\n"
        "    head 3        0.0 % to a\n");
}

TEST_CASE("invisible symbols are shown as signs") {
  CHECK(visible_symbol(" ") == "␣");
  CHECK(visible_symbol("\n") == "↵");
  CHECK(visible_symbol("\x1b") == "·");
  CHECK(visible_symbol("x") == "x");
  CHECK(visible_symbol("\u0e49") == "◌\u0e49");
}

TEST_CASE("the lowest value is the lowest block, and the top is reached at the largest alone") {
  CHECK(sparkline(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}, 8) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline(std::vector<double>{100, 7, 0}, 7) == "██▁");
  CHECK(sparkline(std::vector<double>{2, 2}, 2) == "▁▁");
  CHECK(sparkline(std::vector<double>{}, 1).empty());
}

TEST_CASE("a value that is not finite is a gap") {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  CHECK(sparkline(std::vector<double>{1, not_a_number, 0}, 1) == "█ ▁");
  CHECK(sparkline(std::vector<double>{not_a_number}, 1) == " ");
}

}  // namespace
}  // namespace chargpt
