// Curves as characters: where points land, what the axes say, what is left out.
#include "report/charts/terminal_chart.h"

#include <sstream>

#include "report/terminal.h"
#include "test.h"

using namespace chargpt;

namespace {

using As = DrawnCurve::As;

DrawnCurve falling() {
  return {.name = "train", .points = {{0, 4}, {10, 3}, {20, 2}}, .as = As::line, .color = "36"};
}

/// That a chart has so many rows, none of them wider than its canvas.
void check_size(const std::string& chart, std::size_t columns, std::size_t rows) {
  std::istringstream lines(chart);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(display_width(line) <= columns);
  CHECK(count == rows);
}

}  // namespace

TEST_CASE("a curve falls from the upper left to the lower right") {
  CHECK(terminal_chart({falling()}, {.columns = 30, .rows = 9}) ==
        "4 ┤⠉⠒⠤⣀⡀\n"
        "  │    ⠈⠑⠢⠤⣀\n"
        "  │         ⠉⠒⠢⢄⡀\n"
        "  │             ⠈⠉⠒⠤⣀⡀\n"
        "  │                  ⠈⠑⠢⢄⣀\n"
        "2 ┤                       ⠉⠒⠤⣀\n"
        "  └┬────────────┬────────────┬\n"
        "   0           10           20\n"
        "   ⣀⡠⠤ train\n");
}

TEST_CASE("marks stand over the line, a level across with its name where it is free") {
  const DrawnCurve marks{.name = "val", .points = {{20, 3}}, .as = As::marks};
  const DrawnCurve level{.name = "xz 3.5", .points = {{0, 3.5}}, .as = As::level};
  const std::string drawn = terminal_chart({falling(), marks, level}, {.columns = 40, .rows = 12});
  CHECK(drawn.find("●") != std::string::npos);
  CHECK(drawn.find(" xz 3.5 ") != std::string::npos);
  CHECK(drawn.find("⣀⡠⠤ train   ● val\n") != std::string::npos);
}

TEST_CASE("marks are joined, and dots lie faint around the line that smooths them") {
  Points noisy, flat;
  for (int i = 0; i < 300; ++i) noisy.emplace_back(i, i % 2 == 0 ? 3 : 1);
  for (const auto& [x, y] : smoothed(noisy)) flat.emplace_back(x, x < 20 || x > 280 ? 2 : y);
  CHECK(smoothed(noisy)[150].second == Approx(2).margin(0.1));
  CHECK(smoothed(noisy).front() == noisy.front());
  CHECK(smoothed(noisy).back().second == Approx(2).margin(0.1));  // not the last batch alone
  CHECK(smoothed({{0, 5}, {1, 7}}) == Points{{0, 5}, {1, 7}});
  const DrawnCurve dots{.points = noisy, .as = As::dots}, line{.name = "train", .points = flat};
  const DrawnCurve marks{.name = "val", .points = {{0, 3}, {150, 3}, {299, 1}}, .as = As::marks};
  const std::string drawn = terminal_chart({dots, line, marks}, {.columns = 40, .rows = 12});
  std::istringstream lines(drawn);
  for (std::string row; std::getline(lines, row) && row.find("└") == std::string::npos;)
    CHECK(row.find_last_not_of(" │┤1234567890.") != std::string::npos);  // from the first mark to the second
  CHECK(drawn.find("⣀⡠⠤ train   ● val\n") != std::string::npos);
}

TEST_CASE("a level far from the curves is left out, one a little below them makes room for itself") {
  const auto with_level = [](double y) {
    return terminal_chart({falling(), {.name = "here", .points = {{0, y}}, .as = As::level}}, {});
  };
  CHECK(with_level(1.5).find("here") != std::string::npos);
  CHECK(with_level(0.5).find("here") == std::string::npos);
  CHECK(with_level(5).find("here") == std::string::npos);
}

TEST_CASE("a high beginning is cut off where the rest would have no height") {
  DrawnCurve steep{.name = "train", .points = {{0, 100}}};
  for (int i = 5; i <= 100; ++i) steep.points.emplace_back(i, 3.0 - 0.01 * i);
  const std::string drawn = terminal_chart({steep}, {});
  CHECK(drawn.find("(higher at first)") != std::string::npos);
  CHECK(drawn.substr(0, drawn.find("\n    └")).find("100") == std::string::npos);
  CHECK(drawn.find("2.8 ┤") != std::string::npos);
}

TEST_CASE("colour is escapes around curves, and nothing else changes") {
  const std::string plain = terminal_chart({falling()}, {});
  std::string colored = terminal_chart({falling()}, {.color = true});
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(colored.find("\x1b[36m") != std::string::npos);
  for (const std::string escape : {"\x1b[36m", "\x1b[0m"})
    for (std::size_t at = 0; (at = colored.find(escape)) != std::string::npos;) colored.erase(at, escape.size());
  CHECK(colored == plain);
}

TEST_CASE("no line is wider than the canvas, whatever its size, and there are as many as it has rows") {
  const DrawnCurve level{.name = "counted 5-grams 2.5", .points = {{0, 2.5}}, .as = As::level};
  for (const std::size_t columns : {30, 60, 80, 120})
    for (const std::size_t rows : {6, 10, 24, 50}) {
      INFO(columns << " x " << rows);
      check_size(terminal_chart({falling(), level}, {.columns = columns, .rows = rows}), columns, rows);
    }
}

TEST_CASE("points that are not finite are passed over; a single one has room; without any there is nothing") {
  constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const DrawnCurve straight{.name = "train", .points = {{0, 4}, {20, 2}}},
      gap{.name = "train", .points = {{0, 4}, {5, not_a_number}, {20, 2}}};
  CHECK(terminal_chart({gap}, {}) == terminal_chart({straight}, {}));
  CHECK(terminal_chart({{.name = "val", .points = {{5, 2}}, .as = As::marks}}, {}).find("●") != std::string::npos);
  CHECK(terminal_chart({{.name = "val", .points = {{5, not_a_number}}, .as = As::marks}}, {}).empty());
  CHECK(terminal_chart({}, {}).empty());
}

TEST_CASE("numbers below the axis stand apart, however long they are") {
  const DrawnCurve long_run{.name = "train", .points = {{0, 4}, {300'000'000, 2}}};
  for (std::size_t columns = 30; columns <= 60; ++columns) {
    const std::string drawn = terminal_chart({long_run}, {.columns = columns, .rows = 10});
    CHECK(drawn.find("00,000,000") != std::string::npos);
    for (const char* touching : {"000100,", "000200,", "000300,"}) CHECK(drawn.find(touching) == std::string::npos);
  }
}

TEST_CASE("zero has no sign, though its axis begin a little below it") {
  const DrawnCurve to_zero{.name = "train", .points = {{0, 2}, {20, 0}}};
  CHECK(terminal_chart({to_zero}, {}).find("-0") == std::string::npos);
}

TEST_CASE("ticks a tenth apart have one digit, though the numbers' difference is a little less") {
  const DrawnCurve low{.name = "train", .points = {{0, 1.32}, {20, 1.18}}};  // 13 * 0.1 - 12 * 0.1 < 0.1
  const std::string drawn = terminal_chart({low}, {.columns = 30, .rows = 9});
  CHECK(drawn.find("1.3 ┤") != std::string::npos);
  CHECK(drawn.find("1.2 ┤") != std::string::npos);
}

TEST_CASE("losses of any size leave room for the curve") {
  for (const double loss : {std::nextafter(2.0, 3.0), 1e15, 1e30, 1e300}) {
    const DrawnCurve steep{.name = "train", .points = {{0, 2}, {20, loss}}};
    INFO(loss);
    check_size(terminal_chart({steep}, {.columns = 30, .rows = 10}), 30, 10);
  }
}
