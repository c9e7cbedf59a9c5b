// What of some texts stands in another, against a search of every stretch.
#include "evaluate/copied_text.h"

#include "token_text.h"

namespace chargpt {
namespace {

Ids ids_of(const std::string& text) {
  return {text.begin(), text.end()};
}

/// The copied text of `texts` in a source, with the source's ids.
struct Copied {
  Copied(const std::vector<Ids>& texts, const Ids& source)
      : stored(source.begin(), source.end()), text(texts, view_of(stored)) {}
  std::vector<std::uint32_t> stored;
  CopiedText text;
};

TEST_CASE("the longest copied stretch is found with its place in the source") {
  const auto found =
      Copied({ids_of("xxhello wo"), ids_of("yhello worz")}, ids_of("oh hello world, hello world")).text.longest();
  CHECK(found.ids == ids_of("hello wor"));
  CHECK(found.source_begin == 3);
  CHECK(Copied({ids_of("hello")}, ids_of(std::string(70'000, 'x') + "hello")).text.longest().source_begin == 70'000);
  CHECK(Copied({ids_of("hello"), {}}, ids_of("HELLO")).text.longest().length() == 0);
}

TEST_CASE("no stretch spans two texts") {
  CHECK(Copied({ids_of("ab"), ids_of("cd")}, ids_of("abcd")).text.longest().length() == 2);
}

TEST_CASE("the share of copied text") {
  const Copied found({ids_of("abcXdef")}, ids_of("abc def"));
  CHECK(found.text.copied_share(3) == Approx(6 / 7.0));
  CHECK(found.text.copied_share(4) == 0);
  CHECK(Copied({{}}, ids_of("abc")).text.copied_share(1) == 0);
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
    const Copied found(texts, source);
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
      REQUIRE(found.text.copied_share(length) == Approx(covered / 65));
      const CopiedText::Copy longest = found.text.longest();
      REQUIRE((length <= longest.length()) == first.has_value());
      if (length == longest.length()) REQUIRE(longest.source_begin == *first);
    }
  }
}

}  // namespace
}  // namespace chargpt
