#include "text/documents.h"

#include <nlohmann/json.hpp>
#include <set>

#include "text/corpus.h"

#include "failure.h"

using namespace chargpt;

namespace {

using Texts = std::vector<std::string>;

DataConfig cut_at(Documents documents, const std::string& separator = "") {
  return {.documents = documents, .separator = separator};
}

Corpus corpus_of_lines(const std::string& text, DataConfig data = {}) {
  data.documents = Documents::lines;
  return corpus_from_text(text, data, "names");
}

/// Those of a part of a corpus, which begins and ends with the id between documents.
Texts documents_in(const Corpus& corpus, const TokenView& part) {
  REQUIRE(part[0] == part.document());
  REQUIRE(part[part.size() - 1] == part.document());
  Texts texts{""};
  for (std::int64_t i = 1; i + 1 < part.size(); ++i)
    if (part[i] == part.document())
      texts.emplace_back();
    else
      texts.back() += corpus.vocabulary().symbol(part[i]);
  return texts;
}

Texts documents_in(const std::string& text, DataConfig data) {
  data.val_fraction = 0;  // keeps their order
  const Corpus corpus = corpus_from_text(text, data, "text");
  return documents_in(corpus, corpus.all());
}

std::string lines(int count, const std::string& end = "\n") {
  std::string text;
  for (int i = 0; i < count; ++i) text += "name " + std::to_string(i * 37 % 1000) + end;
  return text;
}

}  // namespace

TEST_CASE("lines, paragraphs and what stands between separators are documents; empty ones are none") {
  CHECK(documents_in("anna\r\n\n  \nben\tx\nclara", cut_at(Documents::lines)) == Texts{"anna", "ben\tx", "clara"});
  CHECK(documents_in("\n\na\nb\r\n \t\r\n\nc\n", cut_at(Documents::paragraphs)) == Texts{"a\nb", "c"});
  CHECK(documents_in("one<|>two<|><|> three\n", cut_at(Documents::none, "<|>")) == Texts{"one", "two", " three\n"});
  CHECK(documents_in("a\n--\nb", cut_at(Documents::none, "\\n--\\n")) == Texts{"a", "b"});
  CHECK(documents_in("a\nb\n", cut_at(Documents::files)) == Texts{"a\nb\n"});
}

TEST_CASE("whole documents are held out, each is on one side, and nothing is lost") {
  const Corpus corpus = corpus_of_lines(lines(1000));
  const Texts train = documents_in(corpus, corpus.train()), val = documents_in(corpus, corpus.val());
  CHECK(train.size() + val.size() == 1000);
  CHECK(corpus.val().size() > corpus.all().size() / 12);
  CHECK(corpus.val().size() < corpus.all().size() / 8);
  std::set<std::string> all(train.begin(), train.end());
  all.insert(val.begin(), val.end());
  CHECK(all.size() == 1000);
  CHECK(corpus.vocabulary().id_of('\n') == -1);
  CHECK(corpus.vocabulary().document() == corpus.vocabulary().size() - 1);
}

TEST_CASE("whole documents are drawn for the test too, none of them is anywhere else, and the order stays") {
  const Corpus before = corpus_of_lines(lines(1000) + lines(50));
  const Corpus corpus = corpus_of_lines(lines(1000) + lines(50), {.test_fraction = 0.2});
  CHECK(corpus.fingerprint() == before.fingerprint());
  const Texts train = documents_in(corpus, corpus.train()), val = documents_in(corpus, corpus.val()),
              test = documents_in(corpus, corpus.test());
  CHECK(train.size() + val.size() + test.size() == 1050);
  for (const Texts& other : {train, val})
    for (const std::string& name : test) CHECK(std::ranges::find(other, name) == other.end());
  CHECK(std::abs(static_cast<double>(corpus.test().size()) / static_cast<double>(corpus.all().size()) - 0.2) < 0.01);
  CHECK(std::abs(static_cast<double>(corpus.val().size()) / static_cast<double>(corpus.all().size()) - 0.1) < 0.01);
  CHECK(corpus.notices()[0].starts_with("1050 documents, " + std::to_string(val.size()) + " of them held out, and " +
                                        std::to_string(test.size()) + " for the test"));
}

TEST_CASE("too few documents for a validation and a test split are refused") {
  const Corpus corpus = corpus_of_lines("one line of some length\nanother line\n", {.test_fraction = 0.1});
  CHECK_THAT(message_of(ExitCode::data, [&] { check_splits(corpus, 4); }),
             Catch::Contains("add documents, or leave them undivided (--documents none)"));
}

TEST_CASE("advice on splits of documents that are too short promises no fraction and no length") {
  std::string text;
  for (char c = 'a'; c < 'u'; ++c) text += std::string(30, c) + "\n";
  CHECK(error_of([&] { check_splits(corpus_of_lines(text), 64); }) ==
        data_error("the text has 621 tokens, 559 to train on, 63 to validate on, but each needs at least "
                   "model.block_size + 1 = 65: add documents, or leave them undivided (--documents none), or give "
                   "--block_size 62 or less"));
}

TEST_CASE("the split is drawn by the seed and by what documents hold, not by their order in the text") {
  const Corpus corpus = corpus_of_lines(lines(300));
  Texts sorted = documents_in(lines(300), cut_at(Documents::lines));
  std::ranges::sort(sorted);
  std::string text;
  for (const std::string& line : sorted) text += line + "\r\n";
  CHECK(corpus_of_lines(text).fingerprint() == corpus.fingerprint());
  const Corpus drawn = corpus_of_lines(lines(300), {.split_seed = 2});
  CHECK(documents_in(drawn, drawn.val()) != documents_in(corpus, corpus.val()));
}

TEST_CASE("equal documents are on the same side") {
  const Corpus corpus = corpus_of_lines(lines(50) + lines(50) + lines(50));
  const Texts train = documents_in(corpus, corpus.train()), val = documents_in(corpus, corpus.val());
  for (const std::string& name : val) CHECK(std::ranges::find(train, name) == train.end());
  CHECK(KnownDocuments(corpus.all()).count() == 50);
  REQUIRE(corpus.notices().size() == 1);
  CHECK(corpus.notices()[0] == "150 documents, " + std::to_string(val.size()) + " of them held out");
}

TEST_CASE("a text without the separator is one document, which nothing is trained on; blank lines are none") {
  const Corpus one = corpus_from_text("a\nb\n", cut_at(Documents::none, "<|>"), "my.txt");
  CHECK(documents_in(one, one.all()).size() == 1);
  CHECK(error_of([&] { check_splits(one, 1); }) ==
        data_error("data.separator = '<|>' does not occur in the text; see --documents for other ways to cut it"));
  CHECK_THAT(error_of([] { corpus_of_lines(" \n\n"); }).line, Catch::Contains("holds blank lines only"));
  CHECK_THAT(error_of([] { corpus_from_text("<|><|>", cut_at(Documents::none, "<|>"), "my.txt"); }).line,
             Catch::Contains("holds separators only"));
}

TEST_CASE("documents of bytes have the id 256 between them") {
  const Corpus corpus = corpus_of_lines("a\xC3\xA4\nb\nc\n", {.units = Units::bytes});
  CHECK(corpus.vocabulary().document() == 256);
  CHECK(corpus.all().width() == 2);
  CHECK(corpus.all().size() == 9);
}

TEST_CASE("of a held-out document longer than data.max_val_tokens the beginning is scored") {
  const Corpus corpus = corpus_of_lines(std::string(100, 'a') + "\n" + std::string(100, 'b') + "\n",
                                        {.val_fraction = 0.5, .max_val_tokens = 40});
  CHECK(corpus.notices()[0] == "2 documents, 1 of them held out");
  CHECK(corpus.val().size() == 40);
  CHECK(corpus.val()[0] == corpus.vocabulary().document());
  check_splits(corpus, 39);
}

TEST_CASE("of held-out documents those that data.max_val_tokens holds whole are scored") {
  for (const std::int64_t most : {50, 51}) {  // no document ends at both
    const Corpus corpus = corpus_of_lines(lines(1000), {.max_val_tokens = most});
    CHECK(corpus.val().size() > most - 9);
    CHECK(corpus.val().size() <= most);
    CHECK(documents_in(corpus, corpus.val()).size() > 1);
  }
}

TEST_CASE("documents are encoded in a given vocabulary, and what that lacks is an error") {
  const Corpus corpus = corpus_of_lines("abc\ncab\n");
  const Corpus again = corpus_from_text("bca\nab\n", cut_at(Documents::lines), "more", corpus.vocabulary());
  CHECK(again.vocabulary() == corpus.vocabulary());
  const Vocabulary without_7 = corpus_of_lines("name 012345689").vocabulary();
  CHECK_THAT(
      message_of(ExitCode::data, [&] { corpus_from_text(lines(300), cut_at(Documents::lines), "more", without_7); }),
      Catch::Contains("'7' (U+0037) at 13;"));  // name 0, name 37
}

TEST_CASE("in another vocabulary documents are without what that lacks, in the same splits") {
  const Corpus corpus = corpus_of_lines(lines(300), {.test_fraction = 0.2}),
               other = corpus_of_lines("name 012345689", {.test_fraction = 0.2});
  const Corpus without = corpus_from_text(lines(300), corpus.data(), "names", other.vocabulary(), UnknownPolicy::skip);
  CHECK_THAT(without.notices().back(),
             Catch::StartsWith("names has 1 character that the model has never seen: '7' (U+0037) at 13;"));
  const auto expected = [&](const TokenView& part) {
    Texts texts = documents_in(corpus, part);
    for (std::string& text : texts) std::erase(text, '7');
    return texts;
  };
  CHECK(documents_in(without, without.val()) == expected(corpus.val()));
  CHECK(documents_in(without, without.test()) == expected(corpus.test()));
}

TEST_CASE("vocab.json names the id between documents, and another number there is damage") {
  const Vocabulary vocabulary = Vocabulary::of_characters({U'a', U'b'}).with_documents();
  CHECK(vocabulary.to_json()["document"] == 2);
  CHECK(vocabulary.symbol(2).empty());
  CHECK(Vocabulary::from_json(vocabulary.to_json(), "vocab.json") == vocabulary);
  for (const nlohmann::json& wrong : {nlohmann::json(1), nlohmann::json(3), nlohmann::json("2"), nlohmann::json(-1)}) {
    nlohmann::json json = vocabulary.to_json();
    json["document"] = wrong;
    CHECK(error_of([&] { Vocabulary::from_json(json, "vocab.json"); }).code == ExitCode::data);
  }
}
