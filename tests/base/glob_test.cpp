#include "base/glob.h"

#include "test.h"

namespace chargpt {

TEST_CASE("a pattern describes whole names") {
  CHECK(matches_glob("*.txt", "a.txt"));
  CHECK(matches_glob("*", "a"));
  CHECK(matches_glob("a*b*c", "a-b-b-c"));
  CHECK(matches_glob("chapter ?.txt", "chapter é.txt"));
  CHECK(matches_glob("", ""));
  CHECK(!matches_glob("*.txt", "a.txt.gz"));
  CHECK(!matches_glob("?", ""));
  CHECK(!matches_glob("?", "ab"));
  CHECK(!matches_glob("a*b", "a-b-c"));
}

TEST_CASE("brackets hold characters and ranges of them") {
  CHECK(matches_glob("[a-c]", "b"));
  CHECK(!matches_glob("[a-c]", "d"));
  CHECK(matches_glob("[!a-c]", "d"));
  CHECK(!matches_glob("[^a-c]", "a"));
  CHECK(matches_glob("[]x]", "]"));
  CHECK(matches_glob("[x-]", "-"));
  CHECK(matches_glob("[à-ü]", "é"));
  CHECK(matches_glob("a[b", "a[b"));
}

TEST_CASE("a backslash takes a character's meaning away") {
  CHECK(matches_glob("\\*", "*"));
  CHECK(!matches_glob("\\*", "a"));
  CHECK(matches_glob("[\\]]", "]"));
  CHECK(!has_wildcards("a\\[1\\]"));
  CHECK(has_wildcards("\\[*"));
  CHECK(unescaped_glob("a\\[1\\]\\") == "a[1]\\");
}

TEST_CASE("hidden names are matched only by a dot") {
  CHECK(!matches_glob("*", ".hidden"));
  CHECK(!matches_glob("?hidden", ".hidden"));
  CHECK(matches_glob(".h*", ".hidden"));
}

TEST_CASE("bytes that are not UTF-8 are characters of their own") {
  CHECK(matches_glob("a?", "a\xFF"));
  CHECK(matches_glob("a\xFF", "a\xFF"));
  CHECK(!matches_glob("a\xFE", "a\xFF"));
}

TEST_CASE("many stars take no long time") {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "a*";
  CHECK(!matches_glob(pattern + "b", std::string(255, 'a')));
}

}  // namespace chargpt
