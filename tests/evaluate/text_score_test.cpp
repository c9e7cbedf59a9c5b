// Losses of a text and what they are grouped by, with a scorer whose loss is the number of characters it saw.
#include "evaluate/text_score.h"

#include <numeric>

#include "base/error.h"
#include "token_text.h"

namespace chargpt {
namespace {

/// The loss of a target: how many tokens were seen before it.
class CountingScorer : public WindowScorer {
 public:
  void score(const WindowBatch& windows, std::span<float> losses) override {
    for (std::size_t i = 0; i < losses.size(); ++i)
      losses[i] = static_cast<float>(static_cast<std::int64_t>(i) % windows.T + 1);
  }
};

using Stored = std::vector<std::uint8_t>;

TEST_CASE("losses by context are means over windows, in ranges that end at powers of two") {
  CountingScorer scorer;
  const Stored text(13, 0);
  const std::vector<MeanLoss> means = losses_by_context(scorer, view_of(text), 6);
  REQUIRE(means.size() == 4);
  CHECK(means[0].of == "1");
  CHECK(means[1].of == "2");
  CHECK(means[2].of == "3 to 4");
  CHECK(means[3].of == "5 to 6");
  CHECK(means[2].loss == 3.5);
  CHECK(means[3].loss == 5.5);
  CHECK(means[3].characters == 4);
  CHECK(losses_by_context(scorer, view_of(text).slice(0, 6), 6).empty());
}

TEST_CASE("in a text of documents losses are by what was seen of the document, and lines end where it does") {
  const std::vector<float> losses = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Stored text = {9, 1, 1, 1, 1, 9, 1, 0, 1, 9};  // 9: between documents, 0: the end of a line
  const std::vector<MeanLoss> means = losses_by_place(view_of(text, 9), losses);
  REQUIRE(means.size() == 4);
  CHECK(means[0].of == "0");
  CHECK(means[0].loss == 3.5);  // 1 and 6
  CHECK(means[1].of == "1");
  CHECK(means[3].of == "3 to 4");
  CHECK(means[3].loss == 6);  // 4, 5 and 9
  CHECK(means[3].characters == 3);
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
  CHECK(lines[1].number == 2);
  CHECK(lines[1].loss == 24);
}

}  // namespace
}  // namespace chargpt
