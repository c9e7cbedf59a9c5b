#include "baseline/baseline.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "test.h"

namespace chargpt {
namespace {

/// scripts/get_text.sh fetches it.
const Corpus& tinyshakespeare() {
  static const Corpus corpus = [] {
    DataConfig data;
    data.text = {CHARGPT_SOURCE_DIR "/data/tinyshakespeare.txt"};
    return load_corpus(data);
  }();
  return corpus;
}

std::vector<double> losses_in_windows_of(std::int64_t block_size) {
  const Corpus& corpus = tinyshakespeare();
  return ngram_losses(corpus.train(), corpus.val(), corpus.vocabulary().size(), block_size);
}

void check_losses(const std::vector<double>& losses, const std::vector<double>& expected) {
  REQUIRE(losses.size() == expected.size());
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == Approx(expected[i]).margin(1e-6).epsilon(0));
}

}  // namespace

TEST_CASE("n-grams of tinyshakespeare without cuts give the published figures") {
  // scripts/reference_ngram.py data/tinyshakespeare.txt
  const std::int64_t uncut = tinyshakespeare().val().size();
  check_losses(losses_in_windows_of(uncut),
               {3.347305, 2.485738, 2.049197, 1.773765, 1.668788, 1.698036, 1.779178, 1.875765});
}

TEST_CASE("n-grams of tinyshakespeare in windows of 64 agree with the reference") {
  // scripts/reference_ngram.py data/tinyshakespeare.txt --block-size 64
  check_losses(losses_in_windows_of(64),
               {3.347305, 2.485738, 2.055932, 1.78913, 1.688045, 1.715035, 1.789954, 1.877198});
}

TEST_CASE("baselines of tinyshakespeare") {
  const Corpus& corpus = tinyshakespeare();
  const Baselines baselines = compute_baselines(corpus, corpus.val(), 64);
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
}

TEST_CASE("baselines of a text in another script count characters, not bytes") {
  std::string text;
  for (int i = 0; i < 400; ++i) text += i % 7 == 0 ? "汉字" : "字汉";
  const Corpus corpus = corpus_from_text(text, {}, "text");
  const Baselines baselines = compute_baselines(corpus, corpus.val(), 64);
  CHECK(baselines.uniform == Approx(std::numbers::ln2));
  CHECK(baselines.unigram == Approx(std::numbers::ln2).margin(0.01));
  CHECK(baselines.ngram < 0.35);
  CHECK(baselines.ngram <= baselines.trigram);
  CHECK(baselines.gzip > 0);
}

TEST_CASE("baselines as JSON") {
  const Baselines baselines{.uniform = 4,
                            .unigram = 3.5,
                            .bigram = 3,
                            .trigram = 2.5,
                            .ngram_order = 5,
                            .ngram = 2.25,
                            .ngram_in_windows = 2.375,
                            .gzip = 2,
                            .xz = 1.5};
  CHECK(to_json(baselines).dump() == R"({"uniform":4.0,"unigram":3.5,"bigram":3.0,"trigram":2.5,)"
                                     R"("ngram":{"order":5,"loss":2.25,"loss_in_windows":2.375},"gzip":2.0,"xz":1.5})");
}

}  // namespace chargpt
