#include "text/corpus.h"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/bytes.h"
#include "base/files.h"
#include "base/random.h"
#include "base/utf8.h"
#include "failure.h"
#include "source_path.h"
#include "test_folder.h"
#include "text/text_bytes.h"
#include "token_text.h"

namespace chargpt {
namespace {

DataConfig with_text(Strings names) {
  return {.text = std::move(names)};
}

DataConfig in_bytes(DataConfig data) {
  data.units = Units::bytes;
  return data;
}

Corpus corpus_of(std::string_view text, double val_fraction = 0.1) {
  return corpus_from_text(text, {.val_fraction = val_fraction}, "text");
}

/// Of so many tokens, split by these fractions.
Corpus with_test(std::size_t tokens, double val, double test) {
  return corpus_from_text(std::string(tokens, 'a'), {.val_fraction = val, .test_fraction = test}, "text");
}

std::string text_of(const Corpus& corpus) {
  return corpus.vocabulary().decode(ids_of(corpus.all()));
}

Failure refusal_of(const std::string& text, const DataConfig& data = {}) {
  return error_of([&] { corpus_from_text(text, data, "mine.txt"); });
}

/// Every second CJK character from U+4E00 on, `count` of them.
std::string many_symbols(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += utf8_of(static_cast<char32_t>(0x4E00 + 2 * i));
  return text;
}

}  // namespace

TEST_CASE("of a large part held out the first max_val_tokens are scored") {
  const Corpus corpus = corpus_from_text("abcdefghij", {.val_fraction = 0.5, .max_val_tokens = 3}, "ten");
  CHECK(corpus.train().size() == 5);
  CHECK(corpus.val().size() == 3);
  CHECK(corpus.val()[0] == 5);
  CHECK(corpus.all().size() == 10);
  CHECK(corpus.val_tokens() == 5);
}

TEST_CASE("the test split is the end of the text, the validation split what is before it") {
  const auto split = [](std::int64_t tokens, double val, double test) {
    const Corpus corpus = with_test(static_cast<std::size_t>(tokens), val, test);
    CHECK(corpus.without_test().size() == corpus.train().size() + corpus.val().size());
    CHECK(corpus.test().size() == splits_by_position(tokens, {.test_fraction = test}).test.size());
    return Ids{corpus.train().size(), corpus.val().size(), corpus.test().size()};
  };
  CHECK(split(1009, 0.1, 0) == Ids{908, 101, 0});
  CHECK(split(10, 0.1, 0.2) == Ids{7, 1, 2});
  CHECK(split(10, 0.2, 0.7) == Ids{1, 2, 7});
  CHECK(split(10, 0, 0.5) == Ids{5, 0, 5});
  const Corpus corpus = corpus_from_text("0123456789", {.val_fraction = 0.2, .test_fraction = 0.3}, "text");
  CHECK(ids_of(corpus.train()) == Ids{0, 1, 2, 3, 4});
  CHECK(ids_of(corpus.val()) == Ids{5, 6});
  CHECK(ids_of(corpus.test()) == Ids{7, 8, 9});
  CHECK(corpus.fingerprint() == corpus_of("0123456789").fingerprint());
}

TEST_CASE("of a test split too the first max_val_tokens are scored") {
  const Corpus corpus =
      corpus_from_text("abcdefghij", {.val_fraction = 0.2, .test_fraction = 0.5, .max_val_tokens = 3}, "ten");
  CHECK(ids_of(corpus.val()) == Ids{3, 4});
  CHECK(ids_of(corpus.test()) == Ids{5, 6, 7});
  CHECK(corpus.test_tokens() == 5);
  CHECK(corpus.notices().empty());
}

TEST_CASE("ids have the narrowest width that holds the vocabulary") {
  CHECK(corpus_of(many_symbols(256)).all().width() == 1);
  CHECK(corpus_of(many_symbols(257)).all().width() == 2);
  CHECK(text_of(corpus_of(many_symbols(257))) == many_symbols(257));
  std::string beyond;
  for (char32_t code_point = 1; code_point <= 0x11000; ++code_point)
    if (is_scalar_value(code_point)) beyond += utf8_of(code_point);
  const Corpus widest = corpus_from_text(beyond, {.max_symbols = 1114112}, "text");
  CHECK(widest.all().width() == 4);
  CHECK(text_of(widest) == beyond);
}

TEST_CASE("a fraction is taken as the decimal number it was written as") {
  CHECK(corpus_of("0123456789", 0.8).train().size() == 2);
  CHECK(corpus_of("0123456789", 0.7).train().size() == 3);
  CHECK(corpus_of("0123456789", 0.0).train().size() == 10);
  CHECK(corpus_of("0123456789", 0.0).val().size() == 0);
  CHECK(corpus_of("0123456789", 1.0 / 3).train().size() == 6);
}

TEST_CASE_METHOD(TestFolder, "several files are joined in their order, each without its byte order mark") {
  const std::string one = write("one.txt", "\xEF\xBB\xBFs\xC3\xA9\r\n"),
                    two = write("two.txt", "\xEF\xBB\xBFt\xEF\xBB\xBF"), none = write("none.txt", "");
  const Corpus corpus = load_corpus(with_text({two, none, one}));
  CHECK(text_of(corpus) == "t\xEF\xBB\xBFs\xC3\xA9\r\n");
  CHECK(corpus.notices().at(0) == two + ", " + one + ": byte order mark removed");
}

TEST_CASE_METHOD(TestFolder, "any bytes are a text in units of bytes") {
  const std::string bytes("\xFF\x00\x80z\r\n", 6);
  const Corpus corpus = load_corpus(in_bytes(with_text({write("any", bytes)})));
  CHECK(corpus.vocabulary() == Vocabulary::of_bytes());
  CHECK(ids_of(corpus.all()) == Ids{255, 0, 128, 'z', '\r', '\n'});
}

TEST_CASE("a text that is not plain UTF-8 is refused with what it is and what to do") {
  CHECK(refusal_of("\xEF\xBB\xBF\xFF") ==
        data_error("mine.txt is UTF-8 but for 1 byte, in line 1; correct them, or leave them out: iconv -c -f UTF-8 -t "
                   "UTF-8 FILE > FILE.utf8; or train with --units bytes"));
  CHECK(refusal_of("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n") ==
        data_error(
            "mine.txt is a PDF document, not plain UTF-8 text; convert it to plain text, or train with --units bytes"));
}

TEST_CASE("a text that only begins like another kind of file is a text") {
  CHECK(corpus_of("%PDF- is how a PDF begins").all().size() == 25);
  CHECK(corpus_of("BZhou is a name").all().size() == 15);
}

TEST_CASE_METHOD(TestFolder, "the sample inside the program is data/sample.txt, alone or joined with files") {
  const std::string text = read_file(source_path("/data/sample.txt"));
  CHECK((sample_text() == text));
  const Corpus from_file = load_corpus(with_text({source_path("/data/sample.txt")}));
  CHECK(load_corpus(with_text({"builtin:sample"})).fingerprint() == from_file.fingerprint());
  CHECK(load_corpus(with_text({write("one", "THE"), "builtin:sample"})).all().size() == from_file.all().size() + 3);
}

TEST_CASE_METHOD(TestFolder, "the reading of a large text is followed to its end") {
  std::vector<double> seen;
  load_corpus(with_text({write("one", std::string(1 << 20, 'a')), write("two", std::string(1 << 20, 'b'))}), {},
              [&](double part) { seen.push_back(part); });
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.size() > 20);
  CHECK(seen.back() == 1);
}

TEST_CASE("an absurd vocabulary is refused") {
  const DataConfig data{.max_symbols = 100};
  CHECK(corpus_from_text(many_symbols(100), data, "mine.txt").vocabulary().size() == 100);
  CHECK_THAT(refusal_of(many_symbols(101), data).line,
             Catch::StartsWith("mine.txt has 101 distinct characters, more than 100 (data.max_symbols): "));
}

TEST_CASE("a corpus is made again from its parts, without its text") {
  for (const Documents documents : {Documents::none, Documents::lines}) {
    const Corpus corpus =
        corpus_from_text("one\ntwo\nthree\nfour\n", {.documents = documents, .test_fraction = 0.3}, "text");
    const Corpus again(corpus.parts(), corpus.data());
    CHECK(again.fingerprint() == corpus.fingerprint());
    CHECK(ids_of(again.train()) == ids_of(corpus.train()));
    CHECK(ids_of(again.val()) == ids_of(corpus.val()));
    CHECK(ids_of(again.test()) == ids_of(corpus.test()));
  }
}

TEST_CASE("a fingerprint tells texts apart and nothing else") {
  CHECK(corpus_of("abcabc").fingerprint() == corpus_of("abcabc", 0.5).fingerprint());
  CHECK(corpus_of("abcabc").fingerprint() != corpus_of("abcacb").fingerprint());
  CHECK(corpus_of("abcabc").fingerprint().tokens == 6);
  CHECK(corpus_of("abcabc").fingerprint().crc64 == crc64(std::string_view("\0\1\2\0\1\2", 6)));
}

TEST_CASE("splits shorter than a window are refused with figures and ways out") {
  const auto refusal = [](const Corpus& corpus, std::int64_t block_size) {
    return error_of([&] { check_splits(corpus, block_size); });
  };
  const auto short_of = [](int needed, const std::string& sizes, const std::string& ways_out) {
    return data_error("the text has " + sizes + " to validate on, but each needs at least model.block_size + 1 = " +
                      std::to_string(needed) + ": " + ways_out);
  };
  const std::string hundred(100, 'a');
  CHECK(refusal(corpus_of(hundred), 10) ==
        short_of(11, "100 tokens, 90 to train on, 10", "use a longer text, or give --block_size 9 or less"));
  CHECK(refusal(corpus_of("0123456789", 1e-13), 4) == short_of(5, "10 tokens, 10 to train on, 0", "use a longer text"));
  const auto limited = [&](std::int64_t most) {
    return corpus_from_text(hundred, {.val_fraction = 0.2, .max_val_tokens = most}, "text");
  };
  CHECK(refusal(limited(5), 10) ==
        short_of(11, "100 tokens, 80 to train on, 5", "use a longer text, or give --block_size 4 or less"));
  CHECK_NOTHROW(check_splits(limited(11), 10));
}

}  // namespace chargpt
