// What of one text stands in another, against a search of every stretch.
#include "evaluate/shared_text.h"

#include "token_text.h"

namespace chargpt {
namespace {

/// `text` with '|' in place of what lies in a stretch of `length` that stands in `other`.
std::string without_shared(const std::string& text, const std::string& other, std::size_t length) {
  std::string rest = text;
  for (std::size_t at = 0; at + length <= text.size(); ++at)
    if (other.find(text.substr(at, length)) != std::string::npos) rest.replace(at, length, length, '|');
  return rest;
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
    const std::string rest = without_shared(scored, counted, shared_stretch);
    CHECK(shared_tokens(view_of(scored), view_of(counted)) == std::ranges::count(rest, '|'));
  }
}

TEST_CASE("a stretch that lies across two runs of reading is found") {
  RandomStream random(4, Purpose::windows);
  const std::string counted = random_letters(random, 200'000, 4), scored = counted.substr(65'536 - 40, 80);
  CHECK(shared_tokens(view_of(scored), view_of(counted)) == 80);
}

TEST_CASE("documents shorter than a stretch are found, whatever their neighbours") {
  const std::string counted = "|anna|bert|carla|dora|", scored = "|dora|eva|bert|";
  CHECK(shared_tokens(view_of(scored, '|'), view_of(counted, '|')) == 10);  // "dora|" and "bert|"
  CHECK(shared_tokens(view_of(scored), view_of(counted)) == 0);
}

TEST_CASE("ids of any width and value are told apart") {
  std::vector<std::uint16_t> counted(300), scored(100);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::uint16_t>(i * 211);
  std::copy_n(counted.begin() + 100, scored.size(), scored.begin());
  const TokenView all = view_of(counted), part = view_of(scored);
  CHECK(shared_tokens(part, all) == 100);
  scored[50] ^= 256;
  CHECK(shared_tokens(part, all) == 0);
}

TEST_CASE("a short text is shared where all of it is, and a phrase never") {
  RandomStream random(5, Purpose::windows);
  const std::string counted = random_letters(random, 500, 4);
  CHECK(shared_tokens(view_of(counted.substr(100, 40)), view_of(counted)) == 40);
  CHECK(shared_tokens(view_of(counted.substr(100, 39) + "z"), view_of(counted)) == 0);
  CHECK(shared_tokens(view_of(counted.substr(100, 31)), view_of(counted)) == 0);
  CHECK(shared_tokens(view_of(counted), view_of(counted.substr(100, 40))) == 0);
  CHECK(shared_tokens(view_of(counted), view_of(counted)) == 500);
}

}  // namespace chargpt
