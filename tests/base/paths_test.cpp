// What a path is called, what may have been meant by one that leads nowhere, and names that a crash leaves behind.
#include "base/paths.h"

#include <filesystem>

#include "base/files.h"
#include "test.h"
#include "test_folder.h"

using namespace chargpt;

TEST_CASE("the nearest name in the folder of a missing file is offered") {
  const WorkingFolder folder;
  for (const char* name : {"book.txt", "poems.txt", "z"}) write_file_atomically(folder / name, "");
  CHECK(nearest_entry(folder / "bok.txt") == "; did you mean " + (folder / "book.txt").string() + "?");
  CHECK(nearest_entry(folder / "Poems.txt") == "; did you mean " + (folder / "poems.txt").string() + "?");
  CHECK(nearest_entry(folder / "something.json") == "");
  CHECK(nearest_entry(folder / "no folder/book.txt") == "");
  CHECK(nearest_entry("bok.txt") == "; did you mean book.txt?");
}

TEST_CASE("a path is called by its last name, behind a link by what the system finds there") {
  namespace fs = std::filesystem;
  const TestFolder folder;
  fs::create_directories(folder / "real/sub");
  fs::create_directory_symlink(folder / "real/sub", folder / "link");
  CHECK(name_of_path("runs/mine") == "mine");
  CHECK(name_of_path("runs/mine/") == "mine");
  CHECK(name_of_path(folder / "link") == "link");
  CHECK(name_of_path(folder / "link/..") == "real");
  CHECK(name_of_path(folder / "link/../") == "real");
  CHECK(name_of_path(folder / "link/.") == "sub");
  CHECK(name_of_path(".") == fs::current_path().filename());
}

TEST_CASE("names of unfinished files, and names that only look like them") {
  CHECK(is_unfinished_file(".chargpt-4711-0.tmp"));
  for (const char* name : {"config.json", ".config.json.tmp-4711-0", ".chargpt-.tmp", ".chargpt-1-.tmp",
                           ".chargpt-a-1.tmp", ".chargpt-1-2-3.tmp", ".chargpt-.tm", "chargpt-1-2.tmp", ".lock", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_unfinished_file(name));
  }
}
