// What of one text stands in another, against a search of every stretch.
#include "baseline/shared_text.h"

#include "base/random.h"
#include "test.h"

namespace chargpt {
namespace {

TokenView view(const std::string& text) {
  return {text.data(), 1, std::ssize(text)};
}

std::string random_letters(RandomStream& random, std::size_t length, std::uint64_t symbols) {
  std::string text(length, 'a');
  for (char& letter : text) letter = static_cast<char>('a' + random.below(symbols));
  return text;
}

/// `text` with '|' in place of what lies in a stretch of `length` that stands in `other`.
std::string without_shared(const std::string& text, const std::string& other, std::size_t length) {
  std::string rest = text;
  for (std::size_t at = 0; at + length <= text.size(); ++at)
    if (other.find(text.substr(at, length)) != std::string::npos) rest.replace(at, length, length, '|');
  return rest;
}

/// The parts of `text` between stretches of '|'.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; (begin = text.find_first_not_of('|', begin)) != std::string::npos;) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return parts;
}

std::vector<std::string> texts_of(const std::vector<TokenView>& views) {
  std::vector<std::string> texts;
  for (const TokenView part : views)
    texts.emplace_back(reinterpret_cast<const char*>(part.bytes().data()), part.size());
  return texts;
}

}  // namespace

TEST_CASE("shared stretches are those that a search finds, in texts longer than a run, too") {
  RandomStream random(3, Purpose::windows);
  for (int round = 0; round < 12; ++round) {
    const bool periodic = round % 4 == 3;
    std::string counted = periodic ? std::string() : random_letters(random, 2000 + random.below(2000), 4), scored;
    if (periodic)
      for (int i = 0; i < 300; ++i) counted += "abcacb";
    for (int piece = 0; piece < 6; ++piece) {
      scored += random_letters(random, random.below(150), 4);
      const std::size_t from = random.below(counted.size() - 200);
      scored += counted.substr(from, 50 + random.below(150));
    }
    const SharedText shared = shared_text(view(scored), view(counted));
    const std::string rest = without_shared(scored, counted, shared_stretch);
    CHECK(shared.tokens == std::count(rest.begin(), rest.end(), '|'));
    CHECK(texts_of(shared.rest) == parts_of(without_shared(counted, scored, shared_stretch)));
  }
}

TEST_CASE("one token between two shared stretches is left") {
  RandomStream random(6, Purpose::windows);
  const std::string one = random_letters(random, 80, 4), other = random_letters(random, 80, 4);
  const std::string counted = one + "x" + other, scored = other + "!" + one;
  const SharedText shared = shared_text(view(scored), view(counted));
  CHECK(shared.left_out == 160);
  CHECK(texts_of(shared.rest) == std::vector<std::string>{"x"});
}

TEST_CASE("a stretch that lies across two runs of reading is found") {
  RandomStream random(4, Purpose::windows);
  const std::string counted = random_letters(random, 200'000, 4), scored = counted.substr(65'536 - 40, 80);
  const SharedText shared = shared_text(view(scored), view(counted));
  CHECK(shared.tokens == 80);
  REQUIRE(shared.rest.size() == 2);
  CHECK(shared.rest[0].size() == 65'536 - 40);
  CHECK(shared.rest[1].size() == 200'000 - 65'536 - 40);
}

TEST_CASE("documents shorter than a stretch are found, whatever their neighbours") {
  const auto documents = [](const std::string& text) { return TokenView(text.data(), 1, std::ssize(text), '|'); };
  const std::string counted = "|anna|bert|carla|dora|", scored = "|dora|eva|bert|";
  const SharedText shared = shared_text(documents(scored), documents(counted));
  CHECK(shared.left_out == 10);
  CHECK(shared.tokens == 10);  // "dora|" and "bert|"
  CHECK(texts_of(shared.rest) == std::vector<std::string>{"|anna|", "carla|"});
  CHECK(shared_text(view(scored), view(counted)).tokens == 0);
}

TEST_CASE("ids of any width and value are told apart") {
  std::vector<std::uint16_t> counted(300), scored(100);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::uint16_t>(i * 211);
  std::copy_n(counted.begin() + 100, scored.size(), scored.begin());
  const TokenView all(counted.data(), 2, 300), part(scored.data(), 2, 100);
  CHECK(shared_text(part, all).tokens == 100);
  scored[50] ^= 256;
  CHECK(shared_text(part, all).tokens == 0);
}

TEST_CASE("a short text is shared where all of it is, and a phrase never") {
  RandomStream random(5, Purpose::windows);
  const std::string counted = random_letters(random, 500, 4);
  CHECK(shared_text(view(counted.substr(100, 40)), view(counted)).tokens == 40);
  CHECK(shared_text(view(counted.substr(100, 39) + "z"), view(counted)).tokens == 0);
  CHECK(shared_text(view(counted.substr(100, 31)), view(counted)).tokens == 0);
  CHECK(shared_text(view(counted), view(counted.substr(100, 40))).tokens == 0);
  CHECK(shared_text(view(counted), view(counted)).rest.empty());
}

}  // namespace chargpt
