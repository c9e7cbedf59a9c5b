// Losses of a text by line.
#include "evaluate/text_score.h"

#include "token_text.h"

namespace chargpt {
namespace {

using Stored = std::vector<std::uint8_t>;

TEST_CASE("in a text of documents lines end where a document does") {
  const std::vector<float> losses = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Stored text = {9, 1, 1, 1, 1, 9, 1, 0, 1, 9};  // 9: between documents, 0: the end of a line
  std::vector<std::int64_t> ends;
  for (const LineLoss& line : losses_by_line(view_of(text, 9), losses, 0)) ends.push_back(line.end);
  CHECK(ends == Ids{5, 7, 9});
}

TEST_CASE("losses by line") {
  const Stored text = {0, 4, 5, 5, 0, 6, 1};  // 0: the end of a line
  const std::vector<float> losses = {1, 2, 4, 8, 16, 32};
  const std::vector<LineLoss> lines = losses_by_line(view_of(text), losses, 0);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].end == 4);
  CHECK(lines[0].loss == 3.75);
  CHECK(lines[1].loss == 24);
}

}  // namespace
}  // namespace chargpt
