// What is said of a held-out part that is, or is not, like the rest. Real texts: the README of src/baseline.
#include "evaluate/split_check.h"

#include <cctype>

#include "base/random.h"
#include "base/utf8.h"
#include "test.h"
#include "text/text_bytes.h"

namespace chargpt {
namespace {

/// Syllables of `consonants` and vowels, a few to a line.
std::vector<std::string> made_names(const std::string& consonants, std::size_t count) {
  RandomStream random(1, Purpose::sampling, 0);
  std::vector<std::string> names;
  while (names.size() < count) {
    std::string name;
    for (std::uint64_t syllables = 2 + random.below(3); syllables > 0; --syllables) {
      name += consonants[random.below(consonants.size())];
      name += "aeiou"[random.below(5)];
    }
    names.push_back(name);
  }
  return names;
}

std::string lines_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

SplitCheck check_of(const std::string& text, const DataConfig& data = {}) {
  const auto check = check_split(corpus_from_text(text, data, "text"));
  REQUIRE(check);
  return *check;
}

std::string notice_of(const std::string& text, const DataConfig& data = {}) {
  const Corpus corpus = corpus_from_text(text, data, "text");
  return split_notice(corpus, check_split(corpus));
}

const std::string many = "bcdfghjklmnprstvwz";

TEST_CASE("a sorted list differs from the rest, the same list shuffled does not") {
  std::vector<std::string> names = made_names(many, 5000);
  const SplitCheck shuffled = check_of(lines_of(names));
  CHECK_FALSE(shuffled.sorted);
  CHECK_FALSE(shuffled.differs());
  CHECK(shuffled.held_out_loss == Approx(shuffled.train_loss).epsilon(0.02));
  CHECK(notice_of(lines_of(names)).starts_with("the lines are short, as in a list: "));
  for (std::size_t i = 0; i < names.size(); i += 3) names[i][0] -= 'a' - 'A';
  std::ranges::sort(names, {}, [](std::string name) {
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    return name;
  });
  for (const bool upwards : {true, false}) {
    if (!upwards) std::ranges::reverse(names);
    const SplitCheck sorted = check_of(lines_of(names));
    CHECK(sorted.sorted);
    CHECK(sorted.differs());
    CHECK_THAT(
        notice_of(lines_of(names)),
        Catch::Contains("because the lines are sorted: if their order does not matter, use --documents lines, "));
  }
  for (std::size_t i = 0; i < names.size(); i += 10) std::swap(names[i], names[i + 1]);
  CHECK_FALSE(check_of(lines_of(names)).sorted);
}

TEST_CASE("lines of two words are those of a list, too") {
  const std::vector<std::string> names = made_names(many, 5000);
  std::string text;
  for (std::size_t i = 0; i < names.size(); i += 2) text += names[i] + " " + names[i + 1] + "\n";
  CHECK(notice_of(text).starts_with("the lines are short, as in a list: "));
}

TEST_CASE("short lines with blank ones between them are paragraphs, not a list") {
  const std::vector<std::string> names = made_names(many, 5000);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += names[i] + (i % 10 == 9 ? "\n\n" : "\n");
  CHECK(notice_of(text).empty());
}

TEST_CASE("another text at the end differs, also where the train part has some of it") {
  const std::string first = lines_of(made_names(many.substr(0, 9), 10000)), second = lines_of(made_names(many, 12000));
  const std::string other = lines_of(made_names(many.substr(9), 10000));
  for (const double share : {0.93, 0.8}) {
    const auto cut = static_cast<std::size_t>(share * 60'000);
    const std::string text = first.substr(0, cut) + other.substr(0, 60'000 - cut);
    const SplitCheck check = check_of(text);
    CHECK(check.differs());
    CHECK_FALSE(check.sorted);
    CHECK(check.held_out_loss > 1.5 * check.train_loss);
    CHECK_THAT(notice_of(text),
               Catch::StartsWith("the held-out part (the last 10 % of the text) differs from the rest: "
                                 "counts of the training text predict it with a loss of "));
  }
  const std::string text = first.substr(0, 48'000) + other.substr(0, 12'000);
  CHECK(notice_of(text, {.val_fraction = 0.2, .max_val_tokens = 1200})
            .starts_with("the held-out part (the last 20 % of the text) differs"));
  CHECK(notice_of(text, {.val_fraction = 0.1, .test_fraction = 0.1})
            .starts_with("the held-out part (10 % of the text, before its test split) differs"));
  CHECK_FALSE(check_of(second.substr(0, 60'000)).differs());
}

TEST_CASE("of a long held-out part the very end is looked at, too") {
  const std::string first = lines_of(made_names(many.substr(0, 9), 10000)).substr(0, 50'000);
  const std::string other = lines_of(made_names(many.substr(9), 10000)).substr(0, 50'000);
  std::string text;
  for (int i = 0; i < 19; ++i) text += first;
  const SplitCheck alike = check_of(text + first, {.val_fraction = 0.8});
  const SplitCheck changed = check_of(text + other, {.val_fraction = 0.8});  // of 800,000 the last 50,000
  CHECK(changed.held_out_loss > 1.3 * alike.held_out_loss);
}

TEST_CASE("prose is like the rest of it, in characters and in bytes") {
  const std::string text(sample_text());
  CHECK(notice_of(text).empty());
  const SplitCheck bytes = check_of(text, {.units = Units::bytes});
  CHECK_FALSE(bytes.differs());
}

TEST_CASE("a vocabulary of thousands of symbols is checked like a small one") {
  std::string text;
  RandomStream random(2, Purpose::sampling, 0);
  for (int i = 0; i < 20'000; ++i)
    text += utf8_of(static_cast<char32_t>(0x4E00 + random.below(i % 2 == 0 ? 20 : 3000)));
  const SplitCheck check = check_of(text, {.max_symbols = 5000});
  CHECK_FALSE(check.differs());
}

TEST_CASE("a loss differs from another where it is above it by a quarter and by half a nat") {
  const auto differs = [](double train, double held_out, bool sorted = false) {
    return SplitCheck{.train_loss = train, .held_out_loss = held_out, .sorted = sorted}.differs();
  };
  CHECK(differs(2, 2.5));
  CHECK_FALSE(differs(2.2, 2.74));  // by half a nat alone
  CHECK_FALSE(differs(1, 1.49));    // by a quarter alone
  CHECK_FALSE(differs(3, 2));
  CHECK(differs(2, 2, true));
}

TEST_CASE("a text that counts learn exactly has no notice of a difference") {
  for (const std::string line : {"abc\n", "ab\n", "abcabcabd\n", "hello world\n", "aaaaaaab"}) {
    std::string text;
    for (int i = 0; i < 4000; ++i) text += line;
    const SplitCheck check = check_of(text);
    CHECK_FALSE(check.differs());
    CHECK_FALSE(check_of(text + "abd\n").differs());
    CHECK(notice_of(text).empty());  // which --documents lines could not cut
  }
  std::string numbers;
  for (int i = 0; i < 6000; ++i) numbers += std::to_string(100 + i % 80) + "\n";
  CHECK(notice_of(numbers).empty());
  CHECK_FALSE(check_of(std::string(20'000, 'a')).differs());
  std::string text;
  for (int i = 0; i < 4000; ++i) text += i < 3900 ? "abc\n" : "xyz\n";
  CHECK(check_of(text).differs());
}

TEST_CASE("a train part of fewer than 5,000 tokens and a held-out one of fewer than 1,000 say nothing") {
  const std::string text(9990, 'a'), longer = text + "aaaaaaaaab";
  CHECK_FALSE(check_split(corpus_from_text(text, {}, "text")));
  CHECK(check_split(corpus_from_text(longer, {}, "text")));
  CHECK_FALSE(check_split(corpus_from_text(text, {.val_fraction = 0.6}, "text")));
}

}  // namespace
}  // namespace chargpt
