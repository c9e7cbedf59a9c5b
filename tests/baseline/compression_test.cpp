#include "baseline/compression.h"

#include "base/random.h"
#include "text/text_source.h"
#include "tinyshakespeare.h"

namespace chargpt {
namespace {

Corpus corpus_of(std::string_view text, Units units = Units::characters) {
  DataConfig data;
  data.units = units;
  return corpus_from_text(text, data, "text");
}

std::int64_t gzip_of(const Corpus& corpus) {
  return gzip_bytes(corpus.vocabulary(), {corpus.all()});
}
std::int64_t xz_of(const Corpus& corpus) {
  return xz_bytes(corpus.vocabulary(), {corpus.all()});
}

std::int64_t ppmd_of(const Corpus& corpus) {
  return ppmd_bytes(corpus.vocabulary(), {corpus.all()});
}

std::string noise_of(std::size_t bytes, std::uint64_t seed = 6) {
  RandomStream random(seed, Purpose::windows);
  std::string noise(bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.below(256));
  return noise;
}

/// Whether this program has PPMd; where not, the case is skipped and counted.
bool ppmd_is_there() {
  if (has_ppmd()) return true;
  const std::string name(Catch::getResultCapture().getCurrentTestName());
  std::printf("skipped because libarchive is not there: %s\n", name.c_str());
  return false;
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

// `xz -9e` of xz 5.4 makes 10,740 bytes of it; `xz -9`, which searches otherwise, 10,700.
TEST_CASE("a text is compressed by the extreme variant of the preset, as its name says") {
  CHECK(xz_of(corpus_of(sample_text())) > 10720);
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
  const std::string noise = noise_of(300000);
  const std::int64_t gzip_once = gzip_of(corpus_of(noise, Units::bytes)),
                     xz_once = xz_of(corpus_of(noise, Units::bytes));
  CHECK(gzip_once > 300000);
  CHECK(xz_once > 300000);
  CHECK(xz_of(corpus_of(noise + noise, Units::bytes)) < xz_once + 1000);
  CHECK(gzip_of(corpus_of(noise + noise, Units::bytes)) > 600000);  // deflate looks back 32 KB only
}

TEST_CASE("a boundary between documents is one symbol that no text holds") {
  const Corpus lines = corpus_from_text("ab\nba\nabba\n", {.documents = Documents::lines, .val_fraction = 0.4}, "text");
  REQUIRE(lines.vocabulary().document() >= 0);
  const Corpus bytes = corpus_of(
      "\xFF"
      "ab\xFF"
      "ba\xFF",
      Units::bytes);
  const TokenView first = lines.all().slice(0, 7);  // two documents of two letters
  CHECK(gzip_bytes(lines.vocabulary(), {first}) == gzip_of(bytes));
}

TEST_CASE("a boundary between documents is no line end, as documents may hold some themselves") {
  std::string text;
  for (int lines = 1; lines <= 12; ++lines) {
    for (int i = 0; i < lines; ++i) text += "a\n";
    text += "\n";
  }
  const Corpus paragraphs = corpus_from_text(text, {.documents = Documents::paragraphs, .val_fraction = 0.4}, "text");
  const Vocabulary& vocabulary = paragraphs.vocabulary();
  const TokenView all = paragraphs.all();
  std::string bytes;
  for (std::int64_t i = 0; i < all.size(); ++i)
    bytes += all[i] == vocabulary.document() ? "\xFF" : vocabulary.symbol(all[i]);
  CHECK(gzip_bytes(vocabulary, {all}) == gzip_of(corpus_of(bytes, Units::bytes)));
}

// Sizes of the packed stream: `7z a -m0=PPMd:o=6:mem=16m` and `7z l -slt` (26.02), and pyppmd.Ppmd7Encoder(6, 16 <<
// 20).

TEST_CASE("PPMd gives the sizes that 7z gives") {
  if (!ppmd_is_there()) return;
  CHECK(ppmd_of(corpus_of("a")) == 6);
  CHECK(ppmd_of(corpus_of(verse)) == 41);
}

TEST_CASE("PPMd of tinyshakespeare, whole and its train split, gives the sizes that 7z gives") {
  NEEDS_TINYSHAKESPEARE();
  if (!ppmd_is_there()) return;
  const Corpus& corpus = tinyshakespeare();
  CHECK(ppmd_of(corpus) == 291426);
  CHECK(ppmd_bytes(corpus.vocabulary(), {corpus.train()}) == 263140);
  CHECK(ppmd_bytes(corpus.vocabulary(), {corpus.train(), corpus.val()}) == 291426);
}

TEST_CASE("PPMd learns from the text before") {
  if (!ppmd_is_there()) return;
  const std::string noise = noise_of(20'000);
  const std::int64_t once = ppmd_of(corpus_of(noise, Units::bytes));
  CHECK(once > 20'000);
  CHECK(ppmd_of(corpus_of(noise + noise, Units::bytes)) < once + 100);
}

TEST_CASE("PPMd has the same memory for a text of any length: a long one fills it, and it forgets", "[long]") {
  if (!ppmd_is_there()) return;
  const std::string little = noise_of(20'000), much = noise_of(2'200'000, 7);
  const auto size_of = [](const std::string& text) { return ppmd_of(corpus_of(text, Units::bytes)); };
  CHECK(size_of(little + much + little) > size_of(little + much) + 20'000);
}

TEST_CASE("PPMd ends between two parts of its work where the heartbeat throws") {
  if (!ppmd_is_there()) return;
  const Corpus corpus = corpus_of(std::string(300'000, 'a') + "b");
  CHECK_THROWS_AS(ppmd_bytes(corpus.vocabulary(), {corpus.all()},
                             [](double part) {
                               if (part > 0.5) throw Interrupted{};
                             }),
                  Interrupted);
}

}  // namespace chargpt

/// libarchive frees what it opened when it closes an archive, and does not close one that has failed.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:archive_write_client_open\n";
}
