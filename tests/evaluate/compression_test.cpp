#include "evaluate/compression.h"

#include "base/random.h"
#include "text/text_bytes.h"
#include "tinyshakespeare.h"

namespace chargpt {
namespace {

Corpus corpus_of(std::string_view text, Units units = Units::characters) {
  DataConfig data;
  data.units = units;
  return corpus_from_text(text, data, "text");
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

constexpr std::string_view verse =
    "she sells sea shells by the sea shore; the shells she sells are sea shells for sure";

}  // namespace

// Sizes of the packed stream: `7z a -m0=PPMd:o=6:mem=16m` and `7z l -slt` (26.02), and pyppmd.Ppmd7Encoder(6, 16 <<
// 20).

TEST_CASE("PPMd gives the sizes that 7z gives") {
  CHECK(ppmd_of(corpus_of("a")) == 6);
  CHECK(ppmd_of(corpus_of(verse)) == 41);
}

TEST_CASE("PPMd of tinyshakespeare, whole and its train split, gives the sizes that 7z gives") {
  NEEDS_TINYSHAKESPEARE();
  const Corpus& corpus = tinyshakespeare();
  CHECK(ppmd_of(corpus) == 291426);
  CHECK(ppmd_bytes(corpus.vocabulary(), {corpus.train()}) == 263140);
  CHECK(ppmd_bytes(corpus.vocabulary(), {corpus.train(), corpus.val()}) == 291426);
}

TEST_CASE("PPMd learns from the text before") {
  const std::string noise = noise_of(20'000);
  const std::int64_t once = ppmd_of(corpus_of(noise, Units::bytes));
  CHECK(once > 20'000);
  CHECK(ppmd_of(corpus_of(noise + noise, Units::bytes)) < once + 100);
}

TEST_CASE("PPMd has the same memory for a text of any length: a long one fills it, and it forgets", "[long]") {
  const std::string little = noise_of(20'000), much = noise_of(2'200'000, 7);
  const auto size_of = [](const std::string& text) { return ppmd_of(corpus_of(text, Units::bytes)); };
  CHECK(size_of(little + much + little) > size_of(little + much) + 20'000);
}

TEST_CASE("the same text compresses to the same size in characters and in bytes, whole and in parts") {
  const std::string text = "Ελλάδα, 汉字, 😀 and plain words; Ελλάδα again";
  const Corpus corpus = corpus_of(text);
  const TokenView all = corpus.all();
  CHECK(ppmd_of(corpus) == ppmd_of(corpus_of(text, Units::bytes)));
  CHECK(ppmd_bytes(corpus.vocabulary(), {all.slice(0, 10), all.slice(10, all.size() - 10)}) == ppmd_of(corpus));
}

TEST_CASE("a boundary between documents is one byte that no text holds") {
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
  CHECK(ppmd_bytes(vocabulary, {all}) == ppmd_of(corpus_of(bytes, Units::bytes)));
}

TEST_CASE("PPMd ends between two parts of its work where the heartbeat throws") {
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
