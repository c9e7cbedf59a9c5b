#include "baseline/baseline.h"

#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "baseline/compression.h"
#include "tinyshakespeare.h"

namespace chargpt {
namespace {

std::vector<double> losses_in_windows_of(std::int64_t block_size) {
  const Corpus& corpus = tinyshakespeare();
  return ngram_losses({corpus.train()}, corpus.val(), corpus.vocabulary().size(), {{.length = block_size}}).front();
}

void check_losses(const std::vector<double>& losses, const std::vector<double>& expected) {
  REQUIRE(losses.size() == expected.size());
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == Approx(expected[i]).margin(1e-6).epsilon(0));
}

}  // namespace

TEST_CASE("n-grams of tinyshakespeare without cuts give the published figures") {
  NEEDS_TINYSHAKESPEARE();
  // scripts/reference/ngram.py data/tinyshakespeare.txt
  const std::int64_t uncut = tinyshakespeare().val().size();
  check_losses(losses_in_windows_of(uncut),
               {3.347305, 2.485738, 2.049197, 1.773765, 1.668788, 1.698036, 1.779178, 1.875765});
}

TEST_CASE("n-grams of tinyshakespeare in windows of 64 agree with the reference") {
  NEEDS_TINYSHAKESPEARE();
  // scripts/reference/ngram.py data/tinyshakespeare.txt --block-size 64
  check_losses(losses_in_windows_of(64),
               {3.347305, 2.485738, 2.055932, 1.78913, 1.688045, 1.715035, 1.789954, 1.877198});
}

TEST_CASE("baselines of tinyshakespeare") {
  NEEDS_TINYSHAKESPEARE();
  const Corpus& corpus = tinyshakespeare();
  const Baselines baselines = compute_baselines(corpus, corpus.val(), {.length = 64}, /*held_out=*/true);
  CHECK(baselines.uniform == Approx(std::log(65.0)));
  CHECK(baselines.unigram == Approx(3.347305).margin(1e-6).epsilon(0));
  CHECK(baselines.bigram == Approx(2.485738).margin(1e-6).epsilon(0));
  CHECK(baselines.trigram == Approx(2.049197).margin(1e-6).epsilon(0));
  CHECK(baselines.ngram_order == 5);
  CHECK(baselines.ngram == Approx(1.668788).margin(1e-6).epsilon(0));
  CHECK(baselines.ngram_in_windows == Approx(1.688045).margin(1e-6).epsilon(0));
  // Sizes of gzip 1.12 and zlib 1.2.13, xz 5.4.1; other releases may save a few bytes.
  CHECK(baselines.gzip == Approx(44486 * 8 * std::numbers::ln2 / 111540).margin(0.005).epsilon(0));
  CHECK(baselines.xz == Approx((364404 - 329292) * 8 * std::numbers::ln2 / 111540).margin(0.005).epsilon(0));
  if (!has_ppmd()) return;
  CHECK(*baselines.ppmd == Approx((291426 - 263140) * 8 * std::numbers::ln2 / 111540));  // 1.4063: compression_test.cpp
  CHECK(strongest_adaptive(baselines).name == "PPMd");
}

TEST_CASE("orders up to 8 are tried") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "aaaaaaab";  // seven characters of context tell the next one, six do not
  const Corpus corpus = corpus_from_text(text, {}, "text");
  const Baselines baselines = compute_baselines(corpus, corpus.val(), {.length = 64}, /*held_out=*/true);
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
  const Baselines baselines = compute_baselines(corpus, corpus.val(), {.length = 2}, /*held_out=*/true);
  const std::vector<double> in_windows =
      ngram_losses({corpus.train()}, corpus.val(), corpus.vocabulary().size(), {{.length = 2}}).front();
  CHECK(baselines.ngram_order == 3);
  CHECK(in_windows[1] < in_windows[2]);
  CHECK(baselines.ngram_in_windows == in_windows[2]);
}

TEST_CASE("where less than a tenth of the train split is left to count, nothing is counted") {
  RandomStream random(1, Purpose::sampling);
  std::string text(2000, ' ');
  for (char& letter : text) letter = static_cast<char>('a' + random.below(26));
  const Corpus corpus = corpus_from_text(text, {.val_fraction = 0}, "text");
  const auto counted_beside = [&](std::int64_t shared) {
    return compute_baselines(corpus, corpus.all().slice(0, shared), {.length = 64}, /*held_out=*/false);
  };
  CHECK(counted_beside(1780).counted == 220);
  CHECK(counted_beside(1820).counted == 0);
  CHECK(counted_beside(1820).left_out == 1820);
}

TEST_CASE("baselines of a text in another script count characters, not bytes") {
  std::string text;
  for (int i = 0; i < 400; ++i) text += i % 7 == 0 ? "汉字" : "字汉";
  const Corpus corpus = corpus_from_text(text, {}, "text");
  const Baselines baselines = compute_baselines(corpus, corpus.val(), {.length = 64}, /*held_out=*/true);
  CHECK(baselines.uniform == Approx(std::numbers::ln2));
  CHECK(baselines.unigram == Approx(std::numbers::ln2).margin(0.01));
  CHECK(baselines.ngram < 0.35);
  CHECK(baselines.ngram <= baselines.trigram);
  CHECK(baselines.gzip > 0);
}

/// Sentences of random letters, so that no two are alike.
std::string random_text(std::uint64_t seed, std::int64_t characters) {
  RandomStream random(seed, Purpose::windows);
  std::string text;
  for (std::int64_t i = 0; i < characters; ++i) text += static_cast<char>('a' + random.below(4));
  return text;
}

TEST_CASE("nothing is counted on what is scored: the train split itself has no counted baseline") {
  const Corpus corpus = corpus_from_text(random_text(1, 4000), {}, "text");
  for (const TokenView split : {corpus.train(), corpus.all()}) {
    const Baselines baselines = compute_baselines(corpus, split, {.length = 64}, /*held_out=*/false);
    CHECK(baselines.counted == 0);
    CHECK(baselines.left_out == 3600);
    CHECK(baselines.shared == 3600);
    CHECK(baselines.measured == split.size());
    CHECK(baselines.uniform == Approx(std::log(4.0)));
    CHECK(baselines.gzip > 0);
    CHECK_FALSE(to_json(baselines).contains("ngram"));
    CHECK_FALSE(to_json(baselines).contains("xz"));
  }
}

TEST_CASE("of a text that stands half in the train split the counts leave that half out") {
  const std::string trained = random_text(1, 4000), fresh = random_text(2, 1000);
  const Corpus corpus = corpus_from_text(trained, {}, "text");
  const Corpus other = corpus_from_text(trained.substr(500, 1000) + fresh, {}, "other", corpus.vocabulary());
  const Baselines baselines = compute_baselines(corpus, other.all(), {.length = 64}, /*held_out=*/false);
  CHECK(baselines.shared == 1000);
  CHECK(baselines.left_out == 1000);
  CHECK(baselines.counted == 2600);
  CHECK(baselines.ngram > 1.35);  // ln 4 = 1.386: nothing can be learnt from random letters, unless one has seen them
  CHECK(baselines.xz > 1.35);
}

TEST_CASE("the validation split is measured against all of the train split, and what they share is told") {
  const std::string text = random_text(1, 3600);
  const Corpus corpus = corpus_from_text(text + text.substr(0, 400), {}, "text");
  const Baselines baselines = compute_baselines(corpus, corpus.val(), {.length = 64}, /*held_out=*/true);
  CHECK(baselines.shared == 400);
  CHECK(baselines.left_out == 0);
  CHECK(baselines.counted == 3600);
}

TEST_CASE("baselines tell how far they are, and end wherever that throws") {
  std::string text;
  for (std::int64_t i = 0; i < 400'000; ++i) text += static_cast<char>('a' + (i * i / 7 + i / 1000) % 26);
  const Corpus corpus = corpus_from_text(text, DataConfig{}, "a text");
  std::vector<double> parts;
  compute_baselines(corpus, corpus.val(), {.length = 64}, /*held_out=*/true,
                    [&](double part) { parts.push_back(part); });
  REQUIRE(parts.size() > 20);
  CHECK(std::is_sorted(parts.begin(), parts.end()));
  CHECK(parts.back() == 1);
  for (const double end : {0.0, 0.3, 0.42, 0.5, 0.7})
    CHECK_THROWS_AS(compute_baselines(corpus, corpus.val(), {.length = 64}, /*held_out=*/true,
                                      [end](double part) {
                                        if (part >= end) throw Interrupted{};
                                      }),
                    Interrupted);
}

TEST_CASE("the id that ends the train split and begins the other is compressed once") {
  if (!has_ppmd()) return;
  std::string text;
  for (int i = 0; i < 300; ++i) text += random_text(static_cast<std::uint64_t>(i), 12) + "\n";
  const Corpus corpus = corpus_from_text(text, {.documents = Documents::lines}, "text");
  const TokenView train = corpus.train(), val = corpus.val();
  REQUIRE(val[0] == val.document());
  const auto bytes = [&](const std::vector<TokenView>& parts) { return ppmd_bytes(corpus.vocabulary(), parts); };
  const std::int64_t added = bytes({train, val.slice(1, val.size() - 1)}) - bytes({train});
  const Baselines baselines = compute_baselines(corpus, val, {.length = 64}, /*held_out=*/true);
  CHECK(*baselines.ppmd ==
        Approx(static_cast<double>(added) * 8 * std::numbers::ln2 / static_cast<double>(val.size() - 1)));
}

TEST_CASE("baselines as JSON, each with its class") {
  Baselines baselines{.uniform = 4,
                      .gzip = 2,
                      .measured = 90,
                      .shared = 7,
                      .counted = 50,
                      .left_out = 10,
                      .unigram = 3.5,
                      .bigram = 3,
                      .trigram = 2.5,
                      .ngram_order = 5,
                      .ngram = 2.25,
                      .ngram_in_windows = 2.375,
                      .xz = 1.5,
                      .ppmd = 1.25};
  const std::string counted =
      R"({"uniform":4.0,"unigram":3.5,"bigram":3.0,"trigram":2.5,)"
      R"("ngram":{"order":5,"loss":2.25,"loss_in_windows":2.375,"class":"frozen"},"gzip":2.0,"xz":1.5,)";
  const std::string frozen =
      R"("classes":{"frozen":["uniform","unigram","bigram","trigram","ngram"],"adaptive":["gzip","xz")";
  const std::string tokens = R"("counted_tokens":50,"left_out_tokens":10,"measured_tokens":90})";
  CHECK(to_json(baselines).dump() ==
        counted + R"("ppmd":{"loss":1.25,"class":"adaptive","variant":"H","order":6,"memory_bytes":16777216},)" +
            frozen + R"(,"ppmd"]},)" + tokens);
  CHECK(strongest_adaptive(baselines).name == "PPMd");
  baselines.ppmd.reset();
  baselines.ppmd_missing = "no room";
  CHECK(to_json(baselines).dump() == counted + R"("ppmd_missing":"no room",)" + frozen + "]}," + tokens);
  CHECK(strongest_adaptive(baselines).name == "xz");
}

}  // namespace chargpt
