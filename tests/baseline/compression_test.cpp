#include "baseline/compression.h"

#include "base/random.h"
#include "test.h"

namespace chargpt {
namespace {

Corpus corpus_of(std::string_view text, Units units = Units::characters) {
  DataConfig data;
  data.units = units;
  return corpus_from_text(text, data, "text");
}

std::int64_t gzip_of(const Corpus& corpus) {
  return gzip_bytes(corpus.vocabulary(), corpus.all());
}
std::int64_t xz_of(const Corpus& corpus) {
  return xz_bytes(corpus.vocabulary(), {corpus.all()});
}

constexpr std::string_view verse =
    "she sells sea shells by the sea shore; the shells she sells are sea shells for sure";

}  // namespace

// Sizes of `printf '…' | gzip -9n | wc -c` and `printf '…' | xz -9e | wc -c`.

TEST_CASE("gzip and xz give the sizes that their programs give") {
  CHECK(gzip_of(corpus_of("a")) == 21);
  CHECK(xz_of(corpus_of("a")) == 60);
  CHECK(gzip_of(corpus_of(verse)) == 68);
  CHECK(xz_of(corpus_of(verse)) == 112);
}

TEST_CASE("the same text compresses to the same size in characters and in bytes") {
  const std::string text = "Ελλάδα, 汉字, 😀 and plain words; Ελλάδα again";
  CHECK(gzip_of(corpus_of(text)) == gzip_of(corpus_of(text, Units::bytes)));
  CHECK(xz_of(corpus_of(text)) == xz_of(corpus_of(text, Units::bytes)));
}

TEST_CASE("a text in two parts compresses as one") {
  const Corpus corpus = corpus_of(verse);
  const TokenView all = corpus.all();
  CHECK(xz_bytes(corpus.vocabulary(), {all.slice(0, 40), all.slice(40, all.size() - 40)}) == xz_of(corpus));
}

TEST_CASE("noise longer than the buffers does not compress, its repetition does") {
  RandomStream random(6, Purpose::windows);
  std::string noise(300000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.below(256));
  const std::int64_t gzip_once = gzip_of(corpus_of(noise, Units::bytes)),
                     xz_once = xz_of(corpus_of(noise, Units::bytes));
  CHECK(gzip_once > 300000);
  CHECK(xz_once > 300000);
  CHECK(xz_of(corpus_of(noise + noise, Units::bytes)) < xz_once + 1000);
  CHECK(gzip_of(corpus_of(noise + noise, Units::bytes)) > 600000);  // deflate looks back 32 KB only
}

}  // namespace chargpt
