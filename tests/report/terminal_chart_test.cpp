// Curves as characters: where points land, what the axes say, what is left out.
#include "report/charts/terminal_chart.h"

#include <sstream>

#include "report/terminal.h"
#include "test.h"

using namespace chargpt;

namespace {

Chart falling() {
  return {.train = {{0, 4}, {10, 3}, {20, 2}}};
}

std::string with_level(double y) {
  return terminal_chart({.train = {{0, 14}, {10, 13}, {20, 12}}, .levels = {{"PPMd", y}}}, {});
}

}  // namespace

TEST_CASE("a curve falls from the upper left to the lower right, marks over it, a level with its name behind it") {
  Chart chart = falling();
  chart.val = {{0, 4}, {20, 2.5}};
  chart.levels = {{"PPMd 3", 3}};
  CHECK(terminal_chart(chart, {.columns = 40, .rows = 9}) ==
        "nats per token by step  ⣀⡠⠤ train  ● val\n"
        "4 ┤●⠒⠢⠤⣀⡀\n"
        "  │     ⠈⠉⠒⠢⠤⢄⣀\n"
        "  │            ⠉⠑⠒⠤⢄⣀\n"
        "  │┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈⠉⠑⠒⠤⠤⣀⡀┈┈┈ PPMd 3 ┈\n"
        "  │                        ⠈⠉⠒⠢⠤⢄⣀     ●\n"
        "2 ┤                               ⠉⠑⠒⠢⠤⣀\n"
        "  └┬─────────────────┬─────────────────┬\n"
        "   0                10                20\n");
  CHECK_THAT(terminal_chart(chart, {.color = true}), Catch::Contains("\x1b[0;33m●\x1b[0m\n"));
}

TEST_CASE("a level's name is at the left if the curve is at the right") {
  CHECK_THAT(with_level(12), Catch::Contains("┤┈ PPMd ┈"));
}

TEST_CASE("a level far from the curves is left out, one a little below them makes room for itself") {
  CHECK_THAT(with_level(11), Catch::Contains("PPMd"));
  CHECK_THAT(with_level(10.9), !Catch::Contains("PPMd"));
  CHECK_THAT(with_level(15), !Catch::Contains("PPMd"));
}

TEST_CASE("batches are smoothed, less at the beginning, and the last point is not one batch alone") {
  Points noisy;
  for (int i = 0; i < 300; ++i) noisy.emplace_back(i, i % 2 == 0 ? i + 1 : i - 1);
  CHECK(smoothed(noisy)[150].second == Approx(150).margin(0.1));
  CHECK(smoothed(noisy).front() == noisy.front());
  CHECK(smoothed(noisy).back().second == Approx(294).margin(0.1));
  CHECK(smoothed({{0, 5}, {1, 7}}) == Points{{0, 5}, {1, 7}});
}

TEST_CASE("the beginning of a long curve leaves the rest its height") {
  Chart steep;
  for (int i = 0; i <= 100; ++i) steep.train.emplace_back(i, i < 5 ? 100 : i == 5 ? 4 : 3.0 - 0.01 * i);
  const std::string drawn = terminal_chart(steep, {});
  CHECK_THAT(drawn.substr(0, drawn.find("└")), Catch::Contains(" 4 ┤") && !Catch::Contains("100"));
}

TEST_CASE("no line is wider than the canvas, there are as many as it has rows, and no numbers touch") {
  for (const double x : {0.0, 20.0, 300'000.0, 1e15})
    for (const double y : {2.0, std::nextafter(2.0, 3.0), 0.0, 1e9})
      for (const std::size_t columns : {40, 60, 80, 120})
        for (const std::size_t rows : {6, 10, 24, 50}) {
          INFO(x << ", " << y << ", " << columns << " x " << rows);
          const Chart chart{.train = {{0, 2}, {x, y}}, .val = {{x, 2}}, .levels = {{"counted 5-grams 1.999", 1.999}}};
          std::istringstream lines(terminal_chart(chart, {.columns = columns, .rows = rows}));
          std::size_t count = 0;
          std::string last;
          for (std::string line; std::getline(lines, line); last = line, ++count) CHECK(display_width(line) <= columns);
          CHECK(count == rows);
          std::istringstream numbers(last);
          for (std::string number; numbers >> number;) CHECK(number.size() <= 21);  // of a step up to 1e15
        }
}

TEST_CASE("a single point has room, and without any there is no chart") {
  CHECK_THAT(terminal_chart({.val = {{5, 2}}}, {}), Catch::Contains("┤") && Catch::Contains("●\n"));
  CHECK(terminal_chart({}, {}).empty());
}

TEST_CASE("ticks are short: zero has no sign, and what rounding adds to a number is not shown") {
  CHECK_THAT(terminal_chart({.train = {{0, 2}, {20, 0}}}, {}), !Catch::Contains("-0"));
  for (const int x : {20, 40, 100})
    CHECK_THAT(
        terminal_chart({.train = {{0, 1.32}, {x, 1.18}}}, {.columns = 40, .rows = 9}),
        Catch::Contains("1.3 ┤") && Catch::Contains("1.2 ┤") && Catch::Contains(" " + std::to_string(x / 2) + " "));
}
