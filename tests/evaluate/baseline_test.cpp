#include "evaluate/baseline.h"

#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "evaluate/compression.h"
#include "evaluate/ngram.h"
#include "tinyshakespeare.h"

namespace chargpt {
TEST_CASE("baselines of tinyshakespeare") {
  NEEDS_TINYSHAKESPEARE();
  const Corpus& corpus = tinyshakespeare();  // scripts/reference/ngram.py data/tinyshakespeare.txt --block-size 64
  const Baselines baselines = compute_baselines(corpus, corpus.val(), 64);
  CHECK(baselines.uniform == Approx(std::log(65.0)));
  CHECK(baselines.unigram == Approx(3.347305).margin(1e-6).epsilon(0));
  CHECK(baselines.bigram == Approx(2.485738).margin(1e-6).epsilon(0));
  CHECK(baselines.trigram == Approx(2.049197).margin(1e-6).epsilon(0));
  CHECK(baselines.ngram_order == 5);
  CHECK(baselines.ngram == Approx(1.668788).margin(1e-6).epsilon(0));
  CHECK(baselines.ngram_in_windows == Approx(1.688045).margin(1e-6).epsilon(0));
  CHECK(baselines.ppmd == Approx((291426 - 263140) * 8 * std::numbers::ln2 / 111540));  // 1.4063: compression_test.cpp
  CHECK(baselines.counted == 1'003'854);
  CHECK(baselines.measured == 111'540);
  CHECK(baselines.shared == 0);
}

TEST_CASE("orders up to 8 are tried") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "aaaaaaab";  // seven characters of context tell the next one, six do not
  const Corpus corpus = corpus_from_text(text, {}, "text");
  const Baselines baselines = compute_baselines(corpus, corpus.val(), 64);
  CHECK(baselines.ngram_order == 8);
  CHECK(baselines.ngram < 0.02);
}

TEST_CASE("the loss in windows is of the order that is best without cuts, though another be better in them") {
  // Digits take turns and letters do not: two characters of context tell a digit, but where a window is of two targets
  // the digit is its first, with one before it, and two do harm to the letter.
  RandomStream random(1, Purpose::sampling);
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += static_cast<char>('a' + random.below(16));
    text += i % 2 == 0 ? '0' : '1';
  }
  const Corpus corpus = corpus_from_text(text, {}, "text");
  const Baselines baselines = compute_baselines(corpus, corpus.val(), 2);
  const std::vector<double> in_windows =
      ngram_losses(corpus.train(), corpus.vocabulary().size(), {{corpus.val(), 2}}).front();
  CHECK(baselines.ngram_order == 3);
  CHECK(in_windows[1] < in_windows[2]);
  CHECK(baselines.ngram_in_windows == in_windows[2]);
}

/// Sentences of random letters, so that no two are alike.
std::string random_text(std::uint64_t seed, std::int64_t characters) {
  RandomStream random(seed, Purpose::windows);
  std::string text;
  for (std::int64_t i = 0; i < characters; ++i) text += static_cast<char>('a' + random.below(4));
  return text;
}

TEST_CASE("a split is measured against all of the train split, and what they share is counted") {
  const std::string text = random_text(1, 3600);
  const Corpus corpus = corpus_from_text(text + text.substr(0, 400), {}, "text");
  const Baselines baselines = compute_baselines(corpus, corpus.val(), 64);
  CHECK(baselines.shared == 400);
  CHECK(baselines.counted == 3600);
  CHECK(compute_baselines(corpus, corpus.all(), 64).shared == 4000);
}

TEST_CASE("baselines tell how far they are, and end wherever that throws") {
  std::string text;
  for (std::int64_t i = 0; i < 400'000; ++i) text += static_cast<char>('a' + (i * i / 7 + i / 1000) % 26);
  const Corpus corpus = corpus_from_text(text, DataConfig{}, "a text");
  std::vector<double> parts;
  compute_baselines(corpus, corpus.val(), 64, 0, [&](double part) { parts.push_back(part); });
  REQUIRE(parts.size() > 10);
  CHECK(std::is_sorted(parts.begin(), parts.end()));
  CHECK(parts.back() == 1);
  for (const double end : {0.0, 0.3, 0.5, 0.7, 0.9})
    CHECK_THROWS_AS(compute_baselines(corpus, corpus.val(), 64, 0,
                                      [end](double part) {
                                        if (part >= end) throw Interrupted{};
                                      }),
                    Interrupted);
}

TEST_CASE("the id that ends the train split and begins the other is compressed once") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += random_text(static_cast<std::uint64_t>(i), 12) + "\n";
  const Corpus corpus = corpus_from_text(text, {.documents = Documents::lines}, "text");
  const TokenView train = corpus.train(), val = corpus.val();
  REQUIRE(val[0] == val.document());
  const auto text_of = [&](TokenView ids) {
    std::string bytes;  // a boundary between documents is one byte that no text holds
    for (std::int64_t i = 0; i < ids.size(); ++i)
      bytes += ids[i] == ids.document() ? "\xFF" : corpus.vocabulary().symbol(ids[i]);
    return bytes;
  };
  const std::int64_t added =
      ppmd_bytes(text_of(train) + text_of(val.slice(1, val.size() - 1))) - ppmd_bytes(text_of(train));
  const Baselines baselines = compute_baselines(corpus, val, 64);
  CHECK(baselines.ppmd ==
        Approx(static_cast<double>(added) * 8 * std::numbers::ln2 / static_cast<double>(val.size() - 1)));
}

}  // namespace chargpt
