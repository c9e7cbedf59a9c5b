#include "run/kept_text.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "failure.h"
#include "run/run_files.h"
#include "run/safetensors.h"
#include "test_folder.h"
#include "token_text.h"

namespace chargpt {
namespace {

/// A run in a project: PROJECT/runs/mine, its text PROJECT/data/text.txt, the working folder PROJECT.
class Project : public WorkingFolder {
 public:
  Project() {
    fs::create_directories(run());
    fs::create_directories(root() / "data");
    mark_run(run());
    write("project/data/text.txt", text_);
    fs::current_path(root());
    keep({"data/text.txt"});
  }
  fs::path root() const { return path() / "project"; }
  fs::path run() const { return root() / "runs/mine"; }
  fs::path kept() const { return run() / kept_text_name; }

  void keep(const Strings& names) { keep_text(run(), load_corpus({.text = names})); }
  /// What find_text reads for a run that lies at `run`, where `text` is what its config says.
  FoundText look(const fs::path& run, const Strings& text, bool named = false) {
    data_.text = text;
    return find_text({data_, corpus_.vocabulary(), corpus_.fingerprint(), run}, named);
  }
  FoundText look(const Strings& text, bool named = false) { return look(run(), text, named); }
  Strings found(const Strings& text, bool named = false) { return look(text, named).corpus.listing().names; }

 protected:
  const std::string text_ = "a text to tell from others";
  DataConfig data_{.text = {"data/text.txt"}};
  const Corpus corpus_ = corpus_from_text(text_, data_, "text");
};

/// A run that has lost its text, as one has whose text was too long to be kept.
class LongTextProject : public Project {
 public:
  LongTextProject() { fs::remove(kept()); }
};

const std::string advice =
    "; say where it is with --text FILE to resume, and the run keeps it; or train a new run on this text, with "
    "--init_from";

}  // namespace

TEST_CASE_METHOD(Project, "documents and splits are kept as they were drawn") {
  const std::string text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
  for (const Documents documents : {Documents::lines, Documents::files, Documents::none}) {
    DataConfig data{.documents = documents, .val_fraction = 0.2, .test_fraction = 0.2};
    if (documents == Documents::none) data.separator = "e\n";
    const Corpus corpus = corpus_from_text(text, data, "text");
    keep_text(run(), corpus);
    const Corpus read = kept_text(run(), {.val_fraction = 0.5}).value();  // says otherwise
    CHECK(read.fingerprint() == corpus.fingerprint());
    CHECK(read.vocabulary() == corpus.vocabulary());
    CHECK(read.is_divided());
    for (const auto part : {&Corpus::train, &Corpus::val, &Corpus::test})
      CHECK(ids_of((read.*part)()) == ids_of((corpus.*part)()));
  }
}

TEST_CASE_METHOD(Project, "a text without documents is split as is asked now") {
  const Corpus read = kept_text(run(), {.val_fraction = 0.5, .test_fraction = 0.25}).value();
  CHECK(read.train().size() == 6);
  CHECK(read.val().size() == 13);
}

TEST_CASE_METHOD(Project, "wide ids come back") {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += static_cast<char>(0xC4 + i / 64);
    text += static_cast<char>(0x80 + i % 64);
  }
  const Corpus corpus = corpus_from_text(text, {}, "text");
  REQUIRE(corpus.all().width() == 2);
  keep_text(run(), corpus);
  CHECK(ids_of(kept_text(run(), {})->all()) == ids_of(corpus.all()));
}

TEST_CASE_METHOD(Project, "damage to a kept text is noticed, and the files are read in its place") {
  const std::string whole = read_file(kept());
  std::string damaged = whole;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);  // another symbol
  write("project/runs/mine/text.safetensors", damaged);
  CHECK(error_of([&] { kept_text(run(), data_); }).code == ExitCode::data);
  const FoundText found = look({"data/text.txt"});
  CHECK(found.corpus.fingerprint() == corpus_.fingerprint());
  CHECK(found.corpus.listing().names == Strings{"data/text.txt"});
  CHECK_THAT(found.damage, Catch::StartsWith(kept().string()));
  keep_text(run(), found.corpus);
  CHECK(read_file(kept()) == whole);
  write("project/runs/mine/text.safetensors", whole.substr(0, whole.size() - 1));
  fs::remove("data/text.txt");
  const auto [code, line] = error_of([&] { look({"data/text.txt"}); });
  CHECK(code == ExitCode::missing);
  CHECK_THAT(line, Catch::StartsWith(kept().string()));
}

TEST_CASE_METHOD(Project, "a kept text whose parts contradict one another is refused, with sums that hold") {
  DataConfig data = data_;
  SafetensorsFile file = read_safetensors(kept());
  const auto refused = [&](const std::string& key, const std::string& value, std::vector<TensorView> tensors) {
    auto metadata = file.metadata;
    metadata[key] = value;
    const std::string header = checked_header(tensors, metadata);
    write_file_atomically(kept(), [&](const ByteSink& sink) { write_safetensors(sink, header, tensors); });
    return error_of([&] { kept_text(run(), data); });
  };
  const std::vector<TensorView> whole = file.tensors;
  const std::string many(26, '\x0C'), other(52, '\0');
  const auto bytes_of = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  CHECK_THAT(refused("chargpt", "2", whole).line, Catch::Contains("made by a newer chargpt"));
  CHECK_THAT(refused("chargpt", "\"1\"", whole).line, Catch::Contains("unknown format"));
  CHECK_THAT(refused("texts", "[1]", whole).line, Catch::Contains("texts"));
  CHECK_THAT(refused("vocabulary", "[]", whole).line, Catch::Contains("vocabulary"));
  CHECK_THAT(refused("texts", "[]", {{"ids", "U8", {26}, bytes_of(many)}}).line,
             Catch::Contains("id 12 is not one of the 12 symbols"));
  CHECK_THAT(refused("texts", "[]", {{"ids", "I8", {26}, bytes_of(many)}}).line, Catch::Contains("no tensor ids"));
  CHECK_THAT(refused("texts", "[]", {{"ids", "U8", {2, 13}, whole[0].bytes}}).line, Catch::Contains("no tensor ids"));
  CHECK_THAT(refused("texts", "[]", {{"other", "U8", {26}, whole[0].bytes}}).line, Catch::Contains("no tensor ids"));
  CHECK_THAT(
      refused("texts", "[]", {{"a", "U8", {1}, whole[0].bytes.first(1)}, {"ids", "U16", {26}, bytes_of(other)}}).line,
      Catch::Contains("do not begin at a multiple"));
  data.documents = Documents::files;  // whose splits are kept, 28 ids with those between documents
  keep_text(run(), corpus_from_text(text_, data, "text"));
  file = read_safetensors(kept());
  for (const char* splits : {R"({"train":[0,30],"val":[29,30],"test":[29,30]})",
                             R"({"train":[0,20],"val":[10,28],"test":[27,28]})", R"({"train":[0,28],"val":[27,28]})"})
    CHECK_THAT(refused("splits", splits, file.tensors).line, Catch::Contains(": splits: field "));
}

TEST_CASE_METHOD(Project, "runs that are told to share hold one copy of equal bytes, and no other") {
  const auto number_of = [](const fs::path& file) {
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    return status.st_ino;
  };
  const auto kept_in = [&](const std::string& name, const Corpus& corpus, Keep keep) {
    const fs::path folder = root() / "runs" / name;
    fs::create_directories(folder);
    mark_run(folder);
    CHECK(keep_text(folder, corpus, keep) == "");
    CHECK(kept_text(folder, data_)->fingerprint() == corpus.fingerprint());
    return number_of(folder / kept_text_name);
  };
  const Corpus same = load_corpus({.text = {"data/text.txt"}}), other = corpus_from_text(text_ + ".", data_, "text");
  CHECK(kept_in("second", same, Keep::shared) == number_of(kept()));
  CHECK(kept_in("third", other, Keep::shared) != number_of(kept()));
  CHECK(kept_in("third", same, Keep::shared) == number_of(kept()));
  CHECK(kept_in("fourth", same, Keep::own) != number_of(kept()));
  const fs::path fourth = root() / "runs/fourth" / kept_text_name;
  std::string damaged = read_file(fourth);
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_file_atomically(fourth, damaged);
  CHECK(kept_in("fifth", same, Keep::shared) == number_of(kept()));
  CHECK_FALSE(kept_text(root(), data_));
}

TEST_CASE_METHOD(LongTextProject, "without a kept text a run finds the file where it was") {
  const std::string place = fs::absolute("data/text.txt").native();
  fs::current_path("data");
  CHECK(found({"data/text.txt"}) == Strings{"text.txt"});
  fs::current_path(run());
  write("project/runs/mine/data/text.txt", "another text under the name that the config has");
  CHECK(found({"data/text.txt"}) == Strings{place});
  for (const std::string other : {"another text", "characters it has never seen: ☺", "a text to tell from otherz"}) {
    write("project/data/text.txt", other);
    CHECK(error_of([&] { look({"data/text.txt"}); }).code == ExitCode::data);
  }
  fs::remove_all(root() / "data");
  CHECK(error_of([&] { look({"data/text.txt"}); }) ==
        Failure{ExitCode::missing, "the text of " + run().string() + " is not where it was: " + place +
                                       " does not exist; say where it is with --text FILE to resume, "
                                       "and the run keeps it"});
}

TEST_CASE_METHOD(LongTextProject, "what run.json says of a text's place may be anything") {
  for (const nlohmann::ordered_json& place :
       std::initializer_list<nlohmann::ordered_json>{nullptr,
                                                     1,
                                                     {{"names", "x"}},
                                                     {{"names", {"x"}}},
                                                     {{"names", {1}}},
                                                     {{"names", nlohmann::ordered_json::array()}}}) {
    keep_run_fact(run(), "text", place);
    CHECK(error_of([&] { look({"data/text.txt"}); }).code == ExitCode::missing);
  }
}

TEST_CASE_METHOD(LongTextProject, "several files, or those of a folder, are found where they were last") {
  for (const Strings& names : {Strings{"book/one", "book/two"}, Strings{"book"}}) {
    write("project/book/one", "a text to tell ");
    write("project/book/two", "from others");
    keep(names);
    fs::remove(kept());
    Strings last;
    for (const std::string& name : names) last.push_back("project/" + name);
    fs::current_path(path());
    CHECK(found(names) == last);
    fs::current_path(root());
    fs::remove("book/two");
    CHECK(error_of([&] { found(names); }).code != ExitCode::ok);
    fs::remove_all("book");
  }
}

TEST_CASE_METHOD(Project,
                 "a text that was named is the only one looked at, and its content tells whether it is the one") {
  fs::rename("data/text.txt", "renamed.txt");
  CHECK(found({"renamed.txt"}, /*named=*/true) == Strings{"renamed.txt"});
  write("project/one", "a text to tell ");
  write("project/two", "from others");
  CHECK(found({"one", "two"}, /*named=*/true) == Strings{"one", "two"});
  write("project/other.txt", "a text too");
  CHECK(error_of([&] { found({"other.txt"}, true); }) ==
        data_error("the text is not the one that " + run().string() + " was trained on (26 tokens then, 10 now)" +
                   advice));
  write("project/new.txt", "☺");
  const auto [code, line] = error_of([&] { found({"new.txt"}, true); });
  CHECK(code == ExitCode::data);
  CHECK_THAT(line, Catch::Contains("(new.txt has 1 character that the model has never seen: '☺'"));
  CHECK(line.ends_with(advice));
}

TEST_CASE("runs differ in their text by what they hold out of it, not by how much of that they score") {
  const DataConfig data;
  const Corpus corpus = corpus_from_text("a text", data, "text");
  const auto difference = [&](const DataConfig& other) {
    return text_difference({data, corpus.vocabulary(), corpus.fingerprint()},
                           {other, corpus.vocabulary(), corpus.fingerprint()});
  };
  CHECK(difference({.max_val_tokens = 5}) == "");
  CHECK(difference({.val_fraction = 0.2, .max_val_tokens = 5}) == "data.val_fraction 0.1 -> 0.2");
}

}  // namespace chargpt
