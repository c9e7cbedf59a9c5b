// What of some texts stands in another, against a search of every stretch.
#include "evaluate/copied_text.h"

#include "token_text.h"

namespace chargpt {
namespace {

Ids ids_of(const std::string& text) {
  return {text.begin(), text.end()};
}

CopiedText copied(const std::vector<Ids>& texts, const Ids& source, std::int64_t length = 1) {
  const std::vector<std::uint32_t> stored(source.begin(), source.end());
  return copied_text(texts, view_of(stored), length);
}

TEST_CASE("the longest copied stretch is found with its place in the source") {
  const CopiedText found = copied({ids_of("xxhello wo"), ids_of("yhello worz")}, ids_of("oh hello world, hello world"));
  CHECK(found.longest == ids_of("hello wor"));
  CHECK(found.source_begin == 3);
  CHECK(copied({ids_of("hello")}, ids_of(std::string(70'000, 'x') + "hello")).source_begin == 70'000);
  CHECK(copied({ids_of("hello"), {}}, ids_of("HELLO")).longest.empty());
}

TEST_CASE("no stretch spans two texts") {
  CHECK(copied({ids_of("ab"), ids_of("cd")}, ids_of("abcd")).longest.size() == 2);
}

TEST_CASE("the share of copied text") {
  CHECK(copied({ids_of("abcXdef")}, ids_of("abc def"), 3).share == Approx(6 / 7.0));
  CHECK(copied({ids_of("abcXdef")}, ids_of("abc def"), 4).share == 0);
  CHECK(copied({Ids{}}, ids_of("abc")).share == 0);
}

TEST_CASE("drawn texts: the shares and the longest stretch are what a search finds") {
  RandomStream random(7, Purpose::sampling);
  const auto draw = [&](std::size_t size) {
    Ids ids(size);
    for (std::int64_t& id : ids) id = random.uniform() < 0.6 ? 0 : 1 + static_cast<std::int64_t>(2 * random.uniform());
    return ids;
  };
  for (int repeat = 0; repeat < 30; ++repeat) {
    const std::vector<Ids> texts = {draw(40), draw(25)};
    const Ids source = draw(60);
    for (std::int64_t length = 1; length < 40; ++length) {
      double covered = 0;
      std::optional<std::int64_t> first;  // place in the source of the first stretch that is there
      for (const Ids& text : texts) {
        std::vector<bool> marked(text.size());
        for (auto begin = text.begin(); text.end() - begin >= length; ++begin) {
          // std::search: clang++-14 cannot compile std::ranges::search of GCC 12's library
          const auto place = std::search(source.begin(), source.end(), begin, begin + length);
          if (place == source.end()) continue;
          std::fill_n(marked.begin() + (begin - text.begin()), length, true);
          if (!first) first = place - source.begin();
        }
        covered += static_cast<double>(std::ranges::count(marked, true));
      }
      const CopiedText found = copied(texts, source, length);
      REQUIRE(found.share == Approx(covered / 65));
      REQUIRE((length <= std::ssize(found.longest)) == first.has_value());
      if (length == std::ssize(found.longest)) REQUIRE(found.source_begin == *first);
    }
  }
}

}  // namespace
}  // namespace chargpt
