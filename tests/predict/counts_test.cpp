// Counts as a distribution that learns.
#include "predict/counts.h"

#include <numeric>

#include "predict/counted.h"
#include "test.h"

namespace chargpt {
namespace {

double sum_of(const std::vector<double>& p) {
  return std::accumulate(p.begin(), p.end(), 0.0);
}

/// Counts of no text yet, for which all symbols are alike.
Counts fresh(const Vocabulary& vocabulary, std::int64_t tokens = 1000) {
  return Counts(vocabulary, std::vector<std::int64_t>(static_cast<std::size_t>(vocabulary.size()), 1), tokens);
}

/// Mean loss of ids that are learned one after the other.
double learned_loss(Counts& counts, Counts::History& history, const Stored& ids) {
  double all = 0;
  for (const std::uint8_t id : ids) all += learned_loss(counts, history, id);
  return all / static_cast<double>(ids.size());
}

}  // namespace

TEST_CASE("while 10,000 characters are learned all symbols' probabilities sum to one, those never seen among them") {
  const std::string text = shortened_sample();
  const Vocabulary vocabulary = vocabulary_of(text + "{|}~");
  const Stored ids = stored(vocabulary, text);
  REQUIRE(ids.size() > 10'000);
  Counts counts(vocabulary, frequencies_of(view_of(ids), vocabulary.size()), 10'000);
  Counts::History history;
  double worst = 0, apart = 0, all = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    if (i % 10 == 0) {
      const std::vector<double> p = distribution(counts, history);
      const double frozen = frozen_loss(counts, history, ids[i]);
      worst = std::max(worst, std::abs(sum_of(p) - 1));
      apart = std::max(apart, std::abs(frozen + std::log(p[ids[i]])));
      REQUIRE(*std::ranges::min_element(p) > 0);
    }
    all += learned_loss(counts, history, ids[i]);
  }
  CHECK(worst < 1e-6);
  CHECK(apart < 1e-9);
  CHECK(all / 10'000 < 2.6);  // of ln 60 = 4.1
}

TEST_CASE("a history that grows is the one of its text, whose last 1,024 symbols count") {
  const std::string text = shortened_sample();
  const Vocabulary vocabulary = vocabulary_of(text);
  const Counts counts = counts_of(vocabulary, stored(vocabulary, text.substr(0, 4000)));
  const Ids ids = vocabulary.encode(text.substr(3800, 2500), "text");
  Counts::History history;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % 50 == 0)
      CHECK(distribution(counts, history) == distribution(counts, counts.history_of(std::span(ids).first(i))));
    counts.advance(history, ids[i]);
  }
  CHECK(distribution(counts, counts.history_of(ids)) ==
        distribution(counts, counts.history_of(std::span(ids).last(1024))));
}

TEST_CASE("nothing before a document's end changes what comes after it") {
  const Vocabulary vocabulary = letters(5).with_documents();
  Stored text = text_of(1000, 5);
  for (std::size_t i = 20; i < text.size(); i += 20) text[i] = 5;
  const Counts counts = counts_of(vocabulary, text);
  for (const Ids& after : {Ids{}, Ids{1}, Ids{1, 2, 3, 4, 0, 1, 2, 3}}) {
    Ids one = {3, 4, 2, 2, 1, 5}, other = {0, 5};
    one.insert(one.end(), after.begin(), after.end());
    other.insert(other.end(), after.begin(), after.end());
    CHECK(distribution(counts, counts.history_of(one)) == distribution(counts, counts.history_of(after)));
    CHECK(distribution(counts, counts.history_of(other)) == distribution(counts, counts.history_of(after)));
  }
}

TEST_CASE("bytes are counted like characters") {
  const Vocabulary bytes = Vocabulary::of_bytes();
  const std::string text = shortened_sample().substr(0, 3000);
  Counts counts = fresh(bytes, 10'000);
  Counts::History history;
  const Stored ids(text.begin(), text.end());
  CHECK(learned_loss(counts, history, ids) < 3.2);  // of ln 256 = 5.5
  CHECK(learned_loss(counts, history, ids) < 0.3);
  CHECK(sum_of(distribution(counts, history)) == Approx(1).margin(1e-6));
  const auto word_of = [&](const std::string& word) { return counts.history_of(bytes.encode(word, "text")).word; };
  CHECK(word_of("CAF\u00e9") == word_of("caf\u00e9"));
}

TEST_CASE("the logits of a mixer have a limit") {
  const Mixer mixer(std::vector<double>{1}, {0, 0});
  CHECK(mixer.mix(std::vector<double>{1e9}, {}).logits[0] == 15);
}

TEST_CASE("a text of one symbol holds no surprise") {
  const Stored text(100, 0);
  Counts counts = counts_of(letters(1), text);
  Counts::History history;
  CHECK(learned_loss(counts, history, text) == 0);
  CHECK(distribution(counts, history) == std::vector<double>{1});
}

}  // namespace chargpt
