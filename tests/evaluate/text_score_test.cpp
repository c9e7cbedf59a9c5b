// Losses of a text, by what they are grouped.
#include "evaluate/text_score.h"

#include <numeric>

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

TEST_CASE("losses by kind of character and by line") {
  const Vocabulary vocabulary = Vocabulary::of_characters({U'\n', U' ', U'!', U'7', U'A', U'b', U'é'});
  const Stored text = {0, 4, 5, 5, 0, 6, 1};  // "Abb\né " behind a start symbol
  const std::vector<float> losses = {1, 2, 4, 8, 16, 32};
  std::vector<std::string> kinds;
  for (const MeanLoss& mean : losses_by_class(view_of(text), losses, vocabulary)) kinds.push_back(mean.of);
  CHECK(kinds == std::vector<std::string>{"small letters", "capital letters", "spaces", "line ends"});
  CHECK(losses_by_class(view_of(text), losses, vocabulary).front().loss == Approx(22.0 / 3));
  const Vocabulary edges = Vocabulary::of_characters(
      {U'\t', U'\n', U'\r', U' ', U'/', U'0', U'9', U':', U'@', U'A', U'Z', U'[', U'`', U'a', U'z', U'{', U'\u007f'});
  Stored all(18);  // one more in front
  std::iota(all.begin() + 1, all.end(), 0);
  std::vector<std::int64_t> counts;
  for (const MeanLoss& mean : losses_by_class(view_of(all), std::vector<float>(17), edges))
    counts.push_back(mean.characters);
  CHECK(counts == Ids{2, 2, 2, 8, 1, 2});
  const Vocabulary more = Vocabulary::of_characters({U'ł', U'ż', U'\u0301', U'Ω', U'٣', U'☺', U'日'});
  all.resize(8);
  kinds.clear();
  for (const MeanLoss& mean : losses_by_class(view_of(all), std::vector<float>(7), more)) kinds.push_back(mean.of);
  CHECK(kinds == std::vector<std::string>{"small letters", "capital letters", "other letters", "digits",
                                          "combining marks", "other characters"});
  const std::vector<LineLoss> lines = losses_by_line(view_of(text), losses, 0);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].end == 4);
  CHECK(lines[0].loss == 3.75);
  CHECK(lines[1].loss == 24);
}

}  // namespace
}  // namespace chargpt
