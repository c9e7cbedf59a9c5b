#include "text/text_listing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "failure.h"
#include "test_folder.h"
#include "text/corpus.h"
#include "text/text_bytes.h"

namespace chargpt {
namespace {

/// Below its first text, or as that was named.
Names names_of(const TextListing& listing) {
  Names names;
  for (const TextFile& file : listing.files) {
    const fs::path below = file.path.lexically_relative(listing.names.front());
    names.push_back(below == "." ? file.path.native() : below.native());
  }
  return names;
}

Names files_of(const std::string& name, Units units = Units::characters) {
  return names_of(list_texts({name}, units));
}

}  // namespace

TEST_CASE_METHOD(WorkingFolder, "a folder is its texts, by the bytes of their names, those in its folders too") {
  for (const char* name : {"book/b", "book/a/z", "book/a.txt", "book/B", "book/é", "book/10", "book/9"})
    write(name, "x");
  CHECK(files_of("book") == Names{"10", "9", "B", "a.txt", "a/z", "b", "é"});
  CHECK(files_of("book/") == files_of("book"));
  CHECK(files_of("./book/../book") == files_of("book"));
  const TextListing listing = list_texts({"book"}, Units::characters);
  CHECK(listing.notices.empty());
  CHECK(listing.files.size() == 7);
  CHECK(listing.bytes() == 7);
  CHECK(listing.repeatable());
}

TEST_CASE_METHOD(WorkingFolder, "what is no text is left out of a folder, and one line says so") {
  using namespace std::literals;
  write("book/a.txt", "text");
  write("book/cover.png", "\x89PNG\r\n\x1A\n\0\0"sv);
  write("book/d.gz", "\x1F\x8B\x08"sv);
  write("book/ids.bin", std::string(1000, '\1') + std::string(1000, '\0'));
  write("book/noise", "\x89\1\2\3"sv);
  write("book/nul", std::string(100'000, 'a') + '\0');
  const TextListing listing = list_texts({"book"}, Units::characters);
  CHECK(names_of(listing) == Names{"a.txt"});
  CHECK(listing.notices == Names{"book: left out as no text: cover.png (a PNG picture), d.gz (a gzip archive), "
                                 "ids.bin (made of numbers, as ids are (nanoGPT's train.bin)) and 2 more"});
  CHECK(listing.left_out.size() == 5);
  CHECK(files_of("book", Units::bytes).size() == 6);
  write("book/b two", "b");
  write("book/latin", "caf\xE9 au lait"sv);
  write("book/cut", "\xC3\xA9\xC3"sv);
  CHECK(error_of([] { list_texts({"book"}, Units::characters); }) ==
        data_error("book has 2 texts in another encoding than UTF-8; convert (head -c 2 book/cut > book/cut.utf8; "
                   "iconv -f WINDOWS-1252 -t UTF-8 book/latin > book/latin.utf8) and move the originals away, or train "
                   "without: --text book/a.txt 'book/b two'"));
}

TEST_CASE_METHOD(WorkingFolder, "a folder is a run if its run.json says so, whatever other file has that name") {
  write("book/run.json", R"({"speed": 3})");
  write("book/part/run.json", "[]");
  write("book/run/run.json", R"({"format": "chargpt run", "version": 1})");
  CHECK(files_of("book") == Names{"part/run.json", "run.json"});
  CHECK(list_texts({"book"}, Units::characters).left_out == Names{"run (a run)"});
  CHECK_THAT(message_of(ExitCode::usage, [] { list_texts({"book/run"}, Units::characters); }),
             Catch::StartsWith("book/run is a run, not a text"));
}

TEST_CASE_METHOD(WorkingFolder, "pipes, sockets and links to folders are left out and never opened") {
  write("book/a", "text");
  write("elsewhere/b", "more");
  REQUIRE(::mkfifo("book/pipe", 0600) == 0);
  fs::create_directory_symlink("../elsewhere", "book/link");
  fs::create_directory_symlink(".", "book/loop");
  fs::create_symlink("nowhere", "book/lost");
  fs::create_symlink("self", "book/self");
  fs::create_symlink("../elsewhere/b", "book/to-file");
  const TextListing listing = list_texts({"book"}, Units::characters);
  CHECK(names_of(listing) == Names{"a", "to-file"});
  CHECK(listing.notices == Names{"book: left out as no text: link (not a regular file), loop (not a regular file), "
                                 "lost (not a regular file) and 2 more"});
  fs::create_directory_symlink("book", "named");
  CHECK(files_of("named") == Names{"a", "to-file"});
}

TEST_CASE_METHOD(WorkingFolder, "names with line ends, and names that are not UTF-8, are read and shown harmlessly") {
  write("book/one\ntwo", "text");
  write("book/\xFF\x1B[31m", std::string_view("a\0b", 3));
  const TextListing listing = list_texts({"book"}, Units::characters);
  CHECK(listing.notices == Names{"book: left out as no text: \\xFF\\x1B[31m (binary)"});
  CHECK(files_of("book") == Names{"one\ntwo"});
}

TEST_CASE_METHOD(WorkingFolder, "a file that has gone since it was listed is an error with its name") {
  write("book/a", "one");
  const TextListing listing = list_texts({"book"}, Units::characters);
  fs::remove("book/a");
  CHECK(error_of([&] { read_text(listing.files.front(), {}); }) == Failure{ExitCode::missing, "book/a does not exist"});
}

TEST_CASE_METHOD(WorkingFolder, "what cannot be read in a folder is not passed over") {
  if (::geteuid() == 0) {
    std::printf("skipped because root reads everything: what cannot be read in a folder is not passed over\n");
    return;
  }
  write("book/a", "one");
  write("book/inner/b", "two");
  fs::permissions("book/a", fs::perms::none);
  CHECK(error_of([] { files_of("book"); }) ==
        Failure{ExitCode::io, "cannot read book/a: Permission denied; check its permissions"});
  fs::permissions("book/a", fs::perms::owner_all);
  fs::permissions("book/inner", fs::perms::none);
  CHECK(error_of([] { files_of("book"); }) ==
        Failure{ExitCode::io, "cannot read book/inner: Permission denied; check its permissions"});
  fs::permissions("book/inner", fs::perms::owner_all);
}

TEST_CASE("short names of texts") {
  CHECK(short_text_name("data/mine.txt") == "mine.txt");
  CHECK(short_text_name("data/book/") == "book");
  CHECK(short_text_name("-") == "standard input");
  CHECK(short_text_name("builtin:sample") == "builtin:sample");
}

}  // namespace chargpt
