// Curves as a picture: where points land, what the axes say, and that foreign names stay text.
#include "report/chart.h"

#include <limits>

#include "test.h"

using namespace chargpt;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

/// x from 0 to 10 and y from 2 to 4, so with the room around them (0.02 and 0.05 of each) -0.2 to 10.2 and 1.9 to 4.1.
Chart falling() {
  return {.title = "loss", .x_label = "seconds", .y_label = "nats", .curves = {{"a", {{0, 4}, {10, 2}}}}};
}

}  // namespace

TEST_CASE("ticks are 1, 2 or 5 times a power of ten apart and lie inside") {
  CHECK(round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(-0.2, 10.2, 8) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(101, 399, 3) == std::vector<double>{200, 300});
  CHECK(log_ticks(0.9, 60) == std::vector<double>{1, 2, 5, 10, 20, 50});
  CHECK(log_ticks(1, 1e6).size() == 7);
}

TEST_CASE("the first point of a falling curve is at the upper left of the drawing, the last at the lower right") {
  // 676 units across from 64, 364 down from 44: 64 + 676 * 0.2 / 10.4 = 77.0, 44 + 364 * 0.1 / 2.2 = 60.5
  CHECK(count(svg(falling()), "d=\"M77.0 60.5 L727.0 391.5\"") == 1);
}

TEST_CASE("a logarithmic axis gives each factor of ten the same room, and leaves out what is not above zero") {
  Chart chart = falling();
  chart.log_x = true;
  chart.curves = {{"a", {{0, 9}, {1, 4}, {10, 3}, {100, 2}}}};
  // 0 to 2 in powers of ten, with room -0.04 to 2.04: 64 + 676 * 0.04 / 2.08 = 77.0, 402.0, 727.0
  CHECK(count(svg(chart), "d=\"M77.0 60.5 L402.0 226.0 L727.0 391.5\"") == 1);
}

TEST_CASE("a point that is not finite breaks a line; what is left alone is a dot") {
  Chart chart = falling();
  chart.curves[0].points = {{0, 4}, {5, 3}, {6, std::numeric_limits<double>::quiet_NaN()}, {10, 2}};
  const std::string picture = svg(chart);
  CHECK(count(picture, "d=\"M77.0 60.5 L402.0 226.0\"") == 1);
  CHECK(count(picture, "<circle cx=\"727.0\" cy=\"391.5\"") == 1);
  CHECK(count(picture, "<circle") == 1);
}

TEST_CASE("curves of one name share a colour and an entry of the legend") {
  Chart chart = falling();
  chart.curves.push_back({"a", {{0, 3}, {10, 2}}});
  chart.curves.push_back({"b", {{0, 3}, {10, 2.5}}});
  const std::string picture = svg(chart);
  CHECK(count(picture, "#0072b2") == 3);  // two curves and the legend
  CHECK(count(picture, "#d55e00") == 2);
  CHECK(count(picture, ">a</text>") == 1);
}

TEST_CASE("a target is a line across with its value") {
  Chart chart = falling();
  CHECK(count(svg(chart), "class=\"target\"") == 0);
  chart.target = 1.898;
  CHECK(count(svg(chart), "class=\"target\"") == 1);
  CHECK(count(svg(chart), ">1.898</text>") == 1);
}

TEST_CASE("a foreign name cannot leave its element") {
  Chart chart = falling();
  chart.curves[0].name = "</text><script>&\x1b";
  CHECK(count(svg(chart), "<script>") == 0);
  CHECK(count(svg(chart), "&lt;/text&gt;&lt;script&gt;&amp;\\x1B") == 1);
}

TEST_CASE("a single point is drawn, and without any the axes stand alone") {
  Chart chart = falling();
  chart.curves[0].points = {{3, 3}};
  CHECK(count(svg(chart), "cx=\"402.0\" cy=\"226.0\"") == 1);
  chart.curves[0].points.clear();
  CHECK(count(svg(chart), ">0.4</text>") == 2);
}
