// What of some texts stands in another, against a search of every stretch.
#include "evaluate/copied_text.h"

#include "token_text.h"

namespace chargpt {
namespace {

Ids ids_of(const std::string& text) {
  return {text.begin(), text.end()};
}

CopiedText copied(const std::vector<Ids>& texts, const Ids& source) {
  const std::vector<std::uint32_t> stored(source.begin(), source.end());
  return copied_text(texts, view_of(stored));
}

TEST_CASE("the longest copied stretch is found with its place in the source") {
  const CopiedText found = copied({ids_of("xxhello wo"), ids_of("yhello worz")}, ids_of("oh hello world, hello world"));
  CHECK(found.longest == 9);
  CHECK(found.text == 1);
  CHECK(found.begin == 1);
  CHECK(found.source_begin == 3);
  CHECK(copied({ids_of("hello")}, ids_of(std::string(70'000, 'x') + "hello")).source_begin == 70'000);
}

TEST_CASE("no stretch spans two texts") {
  CHECK(copied({ids_of("ab"), ids_of("cd")}, ids_of("abcd")).longest == 2);
}

TEST_CASE("the share of copied text") {
  const CopiedText found = copied({ids_of("abcXdef")}, ids_of("abc def"));
  CHECK(found.match == Ids{1, 2, 3, 0, 1, 2, 3});
  CHECK(found.copied_share(3) == Approx(6 / 7.0));
  CHECK(found.copied_share(4) == 0);
}

TEST_CASE("drawn texts: every match is what a search finds") {
  RandomStream random(7, Purpose::sampling);
  const auto draw = [&](std::size_t size) {
    Ids ids(size);
    for (std::int64_t& id : ids) id = random.uniform() < 0.6 ? 0 : 1 + static_cast<std::int64_t>(2 * random.uniform());
    return ids;
  };
  for (int repeat = 0; repeat < 30; ++repeat) {
    const std::vector<Ids> texts = {draw(40), draw(25)};
    const Ids source = draw(60);
    const CopiedText found = copied(texts, source);
    std::size_t place = 0;
    for (const Ids& text : texts)
      for (std::size_t end = 1; end <= text.size(); ++end, ++place) {
        std::int64_t longest = 0;
        for (std::size_t begin = end; begin-- > 0;)
          // std::search: clang++-14 cannot compile std::ranges::search of GCC 12's library
          if (std::search(source.begin(), source.end(), &text[begin], &text[begin] + (end - begin)) != source.end())
            longest = static_cast<std::int64_t>(end - begin);
          else
            break;
        REQUIRE(found.match[place] == longest);
      }
  }
}

}  // namespace
}  // namespace chargpt
