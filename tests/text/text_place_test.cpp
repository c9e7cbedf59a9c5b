#include "text/text_place.h"

#include <sys/stat.h>

#include <thread>

#include "base/files.h"
#include "failure.h"
#include "test_folder.h"

namespace chargpt {
namespace {

/// A run in a project: PROJECT/runs/mine, its text PROJECT/data/text.txt, the working folder PROJECT.
class Project : public WorkingFolder {
 public:
  Project() {
    fs::create_directories(run());
    fs::create_directories(root() / "data");
    write("project/data/text.txt", text_);
    fs::current_path(root());
    keep_text_place(run(), list_texts(data_.text, Units::characters));
  }
  fs::path root() const { return path() / "project"; }
  fs::path run() const { return root() / "runs/mine"; }

  /// What find_text reads for a run that lies at `run`, where `text` is what its config says.
  FoundText look(const fs::path& run, const Strings& text, bool named = false) {
    data_.text = text;
    return find_text({data_, corpus_.vocabulary(), corpus_.fingerprint(), run}, named);
  }
  FoundText look(const Strings& text, bool named = false) { return look(run(), text, named); }
  Strings found(const Strings& text, bool named = false) { return look(text, named).names; }

 protected:
  const std::string text_ = "a text to tell from others";
  DataConfig data_{.text = {"data/text.txt"}};
  const Corpus corpus_ = corpus_from_text(text_, data_, "text");
};

/// A run whose text is a folder, PROJECT/book, of two files.
class BookProject : public Project {
 public:
  BookProject() {
    write("project/book/a.txt", "a text to tell ");
    write("project/book/b.txt", "from others");
    keep_text_place(run(), list_texts({"book"}, Units::characters));
  }
};

const std::string advice =
    "; say where it is with --text FILE to eval or resume, and the run remembers it; or train on this one with a fresh "
    "optimizer, as a new run: chargpt train --init_from ";

}  // namespace

TEST_CASE_METHOD(Project, "called from another folder the text is where it was") {
  const std::string place = fs::absolute("data/text.txt").native();
  fs::current_path(path());
  CHECK(found({"data/text.txt"}) == Strings{place});
}

TEST_CASE_METHOD(Project, "a file of the same name that holds another text is passed over") {
  const std::string place = fs::absolute("data/text.txt").native();
  fs::create_directories(path() / "data");
  for (const std::string other : {"another text", "characters it has never seen: ☺", "a text to tell from otherz"}) {
    write("data/text.txt", other);
    fs::current_path(path());
    CHECK(found({"data/text.txt"}) == Strings{place});
  }
}

TEST_CASE_METHOD(Project, "a project that was moved whole is run where it is now, or given its text") {
  const fs::path moved = path() / "moved with spaces";
  fs::current_path(path());
  fs::rename(root(), moved);
  CHECK(error_of([&] { look(moved / "runs/mine", {"data/text.txt"}); }).code == ExitCode::missing);
  CHECK(look(moved / "runs/mine", {moved / "data/text.txt"}, true).names == Strings{moved / "data/text.txt"});
  fs::current_path(moved);
  CHECK(look(fs::path("runs/mine"), {"data/text.txt"}).names == Strings{"data/text.txt"});
}

TEST_CASE_METHOD(Project, "without text.json a run reads its text where it is named") {
  fs::remove(run() / "text.json");
  CHECK(found({"data/text.txt"}) == Strings{"data/text.txt"});
}

TEST_CASE_METHOD(Project, "a damaged text.json is no hindrance") {
  for (const std::string content : {"", "{", "[]", R"({"version":2,"text":["x"]})", R"({"version":1,"text":["x"]})",
                                    R"({"version":1,"text":"x"})"}) {
    write("project/runs/mine/text.json", content);
    CHECK(found({"data/text.txt"}) == Strings{"data/text.txt"});
  }
}

TEST_CASE_METHOD(Project, "the content tells a text: renamed, joined or cut in pieces it is the same") {
  fs::rename("data/text.txt", "renamed.txt");
  CHECK(found({"renamed.txt"}, /*named=*/true) == Strings{"renamed.txt"});
  write("project/one", "a text to tell ");
  write("project/two", "from others");
  CHECK(found({"one", "two"}, /*named=*/true) == Strings{"one", "two"});
}

TEST_CASE_METHOD(Project, "several files are found where they were last") {
  write("project/one", "a text to tell ");
  write("project/two", "from others");
  keep_text_place(run(), list_texts({"one", "two"}, Units::characters));
  const Strings last = {fs::absolute("one"), fs::absolute("two")};
  fs::current_path(path());
  CHECK(found({"one", "two"}) == last);
  fs::remove(last[1]);
  CHECK(error_of([&] { found({"one", "two"}); }).code == ExitCode::missing);
}

TEST_CASE_METHOD(Project, "a text that was named is the only one looked at") {
  write("project/other.txt", "a text too");
  CHECK(error_of([&] { found({"other.txt"}, true); }) ==
        data_error("the text is not the one that " + run().string() + " was trained on (26 tokens then, 10 now)" +
                   advice + run().string() + " --text FILE"));
  write("project/new.txt", "☺");
  const auto [code, line] = error_of([&] { found({"new.txt"}, true); });
  CHECK(code == ExitCode::data);
  CHECK(line.find("new.txt has 1 character that the model has never seen: '☺'") == 0);
  CHECK(line.ends_with(advice + run().string() + " --text FILE"));
}

TEST_CASE_METHOD(Project, "what is kept of a text's place is not replaced by one that leads nowhere") {
  const std::string kept = read_file(run() / "text.json");
  keep_text_place(run(), {.names = {"no/such.txt"}, .files = {{"no/such.txt"}}});
  CHECK(read_file(run() / "text.json") == kept);
}

TEST_CASE_METHOD(BookProject, "a run goes on with the files that its folder had, also called from another folder") {
  write("project/book/0.txt", "☺ first now");
  const std::string place = fs::absolute("book");
  for (const fs::path& working : {root(), path()}) {
    fs::current_path(working);
    const FoundText found = look({"book"});
    CHECK(found.names == Strings{place});
    CHECK(found.corpus.files() == 2);
  }
}

TEST_CASE_METHOD(BookProject, "a folder that moved is given, and has to hold the same text") {
  fs::rename("book", "volume");
  CHECK(error_of([&] { look({"book"}); }).code == ExitCode::missing);
  CHECK(look({"volume"}, true).names == Strings{"volume"});
  fs::rename("volume/b.txt", "volume/z.txt");  // the same text, as long as their order is
  CHECK(look({"volume"}, true).corpus.files() == 2);
  write("project/volume/zz.txt", "more");
  const auto [code, line] = error_of([&] { look({"volume"}, true); });
  CHECK(code == ExitCode::data);
  CHECK(line.find("(26 tokens then, 30 now)") != std::string::npos);
}

TEST_CASE_METHOD(Project, "a text that could be read only once is kept in the run") {
  const std::string text = "a text to tell from others", mark = "\xEF\xBB\xBF";
  REQUIRE(::mkfifo("pipe", 0600) == 0);
  std::thread writer([&] { std::ofstream("pipe") << mark << mark << text; });
  DataConfig data{.text = {"pipe"}};
  const Corpus corpus = load_corpus(data);
  writer.join();
  const std::string line = keep_text(run(), corpus, data);
  CHECK(line.ends_with("so it is kept in " + (run() / "kept-text.txt").string()));
  CHECK(read_file(run() / "kept-text.txt") == mark + mark + text);
  for (const Strings& names : {Strings{"pipe"}, Strings{"-"}, Strings{"gone", "-"}}) {
    data.text = names;
    CHECK(find_text({data, corpus.vocabulary(), corpus.fingerprint(), run()}, false).names ==
          Strings{run() / "kept-text.txt"});
  }
  const fs::path repeated = root() / "runs/repeated";
  fs::create_directories(repeated);
  data.text = {"-"};
  const FoundText found = find_text({data, corpus.vocabulary(), corpus.fingerprint(), run()}, false);
  CHECK(keep_text(run(), found.corpus, data).empty());
  CHECK(!keep_text(repeated, found.corpus, data).empty());
  CHECK(fs::exists(repeated / "kept-text.txt"));
}

TEST_CASE_METHOD(Project, "documents that could be read only once read back from the run") {
  REQUIRE(::mkfifo("pipe", 0600) == 0);
  const auto piped = [](const DataConfig& data, const std::string& text) {
    std::thread writer([&] { std::ofstream("pipe") << text; });
    const Corpus corpus = load_corpus(data);
    writer.join();
    return corpus;
  };
  DataConfig data{.text = {"pipe"}};
  const auto reads_back = [&](const std::string& text) {
    fs::remove(run() / "kept-text.txt");
    const Corpus corpus = piped(data, text);
    const std::string line = keep_text(run(), corpus, data);
    if (!fs::exists(run() / "kept-text.txt")) {
      CHECK(line.starts_with("the text cannot be read again, and a run keeps at most 64 MB of one file"));
      return false;
    }
    const KnownText known{data, corpus.vocabulary(), corpus.fingerprint(), run()};
    return find_text(known, false).corpus.documents() == corpus.documents();
  };
  data.documents = Documents::lines;
  CHECK(reads_back("one\ntwo\nthree\nfour\n"));
  CHECK(reads_back("one\r\ntwo\r\n\r\nthree"));
  CHECK_FALSE(reads_back("one\r\r\ntwo\r\r\nthree\r\r\n"));
  data.documents = Documents::paragraphs;
  CHECK(reads_back("one\nmore\n\n\ntwo\n\nthree\n"));
  data.documents = Documents::files;
  CHECK(reads_back("one\ntwo\n"));
  data.documents = Documents::none;
  data.separator = "<|end|>";
  CHECK(reads_back("one<|end|>two<|end|><|end|>three"));
}

TEST_CASE_METHOD(Project, "a run that goes on never waits for standard input, and reads the file it was last given") {
  CHECK(found({"-"}) == Strings{fs::absolute("data/text.txt")});
  fs::remove(run() / "text.json");
  CHECK(error_of([&] { found({"-"}); }) ==
        Failure{ExitCode::missing, "the text of " + run().string() +
                                       " came from standard input and is not kept in the run; say where it is with "
                                       "--text FILE to eval or resume, and the run remembers it"});
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
