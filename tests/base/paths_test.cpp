// What a path is called, what may have been meant by one that leads nowhere, and names that a crash leaves behind.
#include "base/files.h"

#include "test_folder.h"

using namespace chargpt;

TEST_CASE_METHOD(WorkingFolder, "the nearest name in the folder of a missing file is offered") {
  for (const char* name : {"book.txt", "poems.txt", "z"}) write_file_atomically(path() / name, "");
  CHECK(nearest_entry(path() / "bok.txt") == "; did you mean " + (path() / "book.txt").string() + "?");
  CHECK(nearest_entry(path() / "Poems.txt") == "; did you mean " + (path() / "poems.txt").string() + "?");
  CHECK(nearest_entry(path() / "something.json") == "");
  CHECK(nearest_entry(path() / "no folder/book.txt") == "");
  CHECK(nearest_entry("bok.txt") == "; did you mean book.txt?");
}

TEST_CASE_METHOD(TestFolder, "a path is called by its last name, behind a link by what the system finds there") {
  fs::create_directories(path() / "real/sub");
  fs::create_directory_symlink(path() / "real/sub", path() / "link");
  CHECK(name_of_path("runs/mine") == "mine");
  CHECK(name_of_path("runs/mine/") == "mine");
  CHECK(name_of_path(path() / "link") == "link");
  CHECK(name_of_path(path() / "link/..") == "real");
  CHECK(name_of_path(path() / "link/../") == "real");
  CHECK(name_of_path(path() / "link/.") == "sub");
  CHECK(name_of_path(".") == fs::current_path().filename());
}

TEST_CASE("names of unfinished files, and names that only look like them") {
  CHECK(is_unfinished_file(".chargpt-4711-0.partial"));
  for (const char* name :
       {"config.json", "mine.partial", ".chargpt-.partial", ".chargpt-1-.partial", ".chargpt-a-1.partial",
        ".chargpt-1-2-3.partial", ".chargpt-1-2.part", "chargpt-1-2.partial", ".lock", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_unfinished_file(name));
  }
}
