// A folder that is renamed, or removed, while it is held open.
#include "base/open_folder.h"

#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "test.h"
#include "test_folder.h"

using namespace chargpt;
namespace fs = std::filesystem;

TEST_CASE("a folder has the path that it was opened by, as long as that leads to it") {
  const TestFolder folder;
  fs::create_directories(folder / "a/b");
  OpenFolder open(folder / "a/../a/b");
  CHECK(open.path() == folder / "a/../a/b");
}

TEST_CASE("a folder is found where it, or one above it, was renamed to, also twice") {
  const TestFolder folder;
  fs::create_directories(folder / "a/b");
  OpenFolder open(folder / "a/b");
  fs::rename(folder / "a/b", folder / "a/c");
  CHECK(open.path() == folder / "a/c");
  fs::rename(folder / "a", folder / "z (deleted)");
  CHECK(open.path() == folder / "z (deleted)/c");
}

TEST_CASE("another folder that has its old name is not it") {
  const TestFolder folder;
  fs::create_directory(folder / "a");
  OpenFolder open(folder / "a");
  fs::rename(folder / "a", folder / "b");
  fs::create_directory(folder / "a");
  CHECK(open.path() == folder / "b");
}

TEST_CASE("below the working folder a new path is as short as a person would write it") {
  const TestFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  fs::create_directory("a");
  OpenFolder open("a");
  fs::rename("a", "b");
  const fs::path found = open.path();
  fs::current_path(before);
  CHECK(found == "b");
}

TEST_CASE("a folder that was removed is an error that names it, whatever has its name") {
  const TestFolder folder;
  fs::create_directory(folder / "a");
  OpenFolder open(folder / "a");
  fs::remove(folder / "a");
  const std::string gone =
      "the folder " + (folder / "a").string() + " is gone: it was removed, or moved to another disk";
  CHECK_THROWS_WITH(open.path(), Catch::StartsWith(gone));
  fs::create_directory(folder / "a");
  CHECK_THROWS_WITH(open.path(), Catch::StartsWith(gone));
}

TEST_CASE("only a folder can be opened") {
  const TestFolder folder;
  std::ofstream(folder / "file") << "x";
  for (const char* name : {"file", "nothing"}) {
    CAPTURE(name);
    try {
      OpenFolder open(folder / name);
      FAIL("it was opened");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::io);
      CHECK(std::string(error.what()).starts_with("cannot open the folder " + (folder / name).string() + ": "));
    }
  }
}
