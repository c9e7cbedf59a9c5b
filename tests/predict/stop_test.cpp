// Stop strings and characters in pieces: what is shown when, and that the cut into pieces never changes the outcome.
#include "predict/stop.h"

#include "base/error.h"
#include "base/random.h"
#include "test.h"

namespace chargpt {
namespace {

/// What is shown of `pieces`, the end included.
std::string shown(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  std::string out;
  for (const std::string& piece : pieces) out += matcher.add(piece);
  return out + matcher.finish();
}

std::vector<std::string> bytes_of(const std::string& text) {
  std::vector<std::string> pieces;
  for (const char byte : text) pieces.emplace_back(1, byte);
  return pieces;
}

}  // namespace

TEST_CASE("without stop strings text passes at once") {
  StopMatcher matcher({});
  CHECK(matcher.add("abc") == "abc");
  CHECK_FALSE(matcher.stopped());
}

TEST_CASE("a stop string split across pieces is held back and not shown") {
  StopMatcher matcher({"END"});
  CHECK(matcher.add("so E") == "so ");
  CHECK(matcher.add("N") == "");
  CHECK_FALSE(matcher.stopped());
  CHECK(matcher.add("D and more") == "");
  CHECK(matcher.stopped());
  CHECK(matcher.add("more") == "");
  CHECK(matcher.finish() == "");
}

TEST_CASE("what only began like a stop string is shown once that is decided") {
  StopMatcher matcher({"END"});
  CHECK(matcher.add("EN") == "");
  CHECK(matcher.add("E") == "EN");
  CHECK(matcher.finish() == "E");
}

TEST_CASE("a stop string that overlaps its own beginning is found") {
  CHECK(shown({"aab"}, bytes_of("xaaab")) == "xa");
  CHECK(shown({"\n\n"}, bytes_of("one\ntwo\n\nthree")) == "one\ntwo");
  CHECK(shown({"abab"}, bytes_of("aababc")) == "a");
}

TEST_CASE("of several stop strings the one complete first ends the text, of equals the longest") {
  CHECK(shown({"cd", "b"}, {"abcd"}) == "a");
  CHECK(shown({"d", "bcd"}, {"abcd"}) == "a");
  CHECK(shown({"bcdX", "d"}, {"abcdX"}) == "abc");
}

TEST_CASE("a stop string at the very beginning leaves nothing") {
  CHECK(shown({"ab"}, {"ab"}).empty());
}

TEST_CASE("an empty stop string is refused") {
  CHECK_THROWS_AS(StopMatcher({"a", ""}), Error);
}

TEST_CASE("what is shown never depends on how the text was cut") {
  RandomStream random(3, Purpose::sampling);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += static_cast<char>('a' + random.below(2));
    const std::vector<std::string> stops = {"abbab", "bbbb", "aaba"};
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += pieces.back().size())
      pieces.push_back(text.substr(at, 1 + random.below(7)));
    CHECK(shown(stops, pieces) == shown(stops, {text}));
    CHECK(shown(stops, bytes_of(text)) == shown(stops, {text}));
  }
}

TEST_CASE("what is shown so far and the end of every shown piece are whole characters") {
  StopMatcher matcher({"é→"});
  CHECK(matcher.add("né") == "n");
  CHECK(matcher.add("→") == "");
  CHECK(matcher.stopped());
  CHECK(shown({"→"}, {"é", "←", "→"}) == "é←");
}

TEST_CASE("bytes that are no UTF-8 are not held back") {
  StopMatcher matcher({});
  CHECK(matcher.add("\x80") == "\x80");          // continues nothing
  CHECK(matcher.add("\xC0") == "\xC0");          // begins only overlong forms
  CHECK(matcher.add("\xFF") == "\xFF");          // begins nothing
  CHECK(matcher.add("\xED\xA0") == "\xED\xA0");  // a surrogate
  CHECK(matcher.add("\xE2\x41") == "\xE2\x41");  // broken off
  CHECK(matcher.add("\xC3\xC3") == "\xC3");      // broken off by the beginning of another
  CHECK(matcher.add("\xA9") == "\xC3\xA9");
  CHECK(matcher.finish() == "");
}

TEST_CASE("without stop strings no byte changes") {
  RandomStream random(4, Purpose::sampling);
  std::string in, out;
  StopMatcher matcher({});
  for (int i = 0; i < 20000; ++i) {
    const char byte = static_cast<char>(random.below(256));
    in += byte;
    out += matcher.add(std::string_view(&byte, 1));
    REQUIRE(in.size() - out.size() <= 3);
  }
  CHECK(out + matcher.finish() == in);
}

}  // namespace chargpt
