// A folder that is renamed, or removed, while it is held open.
#include "base/open_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"
#include "test_folder.h"

using namespace chargpt;

TEST_CASE_METHOD(TestFolder, "a folder that was renamed or removed is no longer at its path, whatever has its name") {
  fs::create_directories(path() / "a/b");
  const OpenFolder renamed(path() / "a/../a/b");
  CHECK(renamed.path() == path() / "a/../a/b");
  CHECK_NOTHROW(renamed.check());
  const std::string gone = "the folder " + renamed.path().string() + " was renamed or removed while it was in use";
  fs::rename(path() / "a", path() / "z");
  CHECK_THROWS_WITH(renamed.check(), Catch::StartsWith(gone));
  fs::create_directories(path() / "a/b");
  CHECK_THROWS_WITH(renamed.check(), Catch::StartsWith(gone));
  const OpenFolder removed(path() / "a/b");
  fs::remove(path() / "a/b");
  CHECK_FALSE(removed.is_at_path());
  fs::rename(path() / "z", path() / "a-file");
  std::ofstream(path() / "a-file/b/inside");
  CHECK(renamed.entries() == std::vector<std::string>{"inside"});
}

TEST_CASE_METHOD(TestFolder, "what is in a folder is read and written where the folder is, under whatever name") {
  fs::create_directory(path() / "a");
  const OpenFolder open(path() / "a");
  fs::rename(path() / "a", path() / "b");
  fs::create_directory(path() / "elsewhere");
  fs::create_directory_symlink(path() / "elsewhere", path() / "a");
  open.write("f", "1");
  open.make("sub").write("g", "2");
  CHECK(read_file(path() / "b/f") == "1");
  CHECK(read_file(path() / "b/sub/g") == "2");
  CHECK(open.read("f") == "1");
  CHECK(open.entries() == std::vector<std::string>{"f", "sub"});
  CHECK(fs::is_empty(path() / "elsewhere"));
}

TEST_CASE("in a folder no link is followed, and no pipe or device waited for") {
  const TestFolder folder, outside;
  write_file_atomically(outside / "secret", "secret");
  fs::create_directory_symlink(outside.path(), folder / "link");
  fs::create_symlink(outside / "secret", folder / "file-link");
  fs::create_symlink("/dev/zero", folder / "zero");
  fs::create_symlink(folder / "loop", folder / "loop");
  fs::create_directory(folder / "folder");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0666) == 0);
  const OpenFolder open(folder.path());
  for (const char* name :
       {"link", "file-link", "zero", "loop", "folder", "pipe", "..", "link/secret", "../x", "/etc/passwd", ""}) {
    CAPTURE(name);
    CHECK_THAT(message_of(ExitCode::data, [&] { open.read(name, 1000); }), !Catch::Contains("secret\n"));
  }
  CHECK_THROWS_WITH(open.find("link"), Catch::Contains("is a symbolic link"));
  CHECK_THROWS_WITH(open.make("link"), Catch::Contains("a symbolic link has that name"));
  CHECK_FALSE(open.find("pipe"));
  open.write("file-link", "mine");  // takes the link's place
  CHECK(read_file(outside / "secret") == "secret");
  CHECK(open.read("file-link") == "mine");
  CHECK_THROWS_WITH(open.read("file-link", 3), Catch::Contains("larger than 3 bytes"));
}

TEST_CASE_METHOD(TestFolder, "a huge file of nothing is refused by its size, unread") {
  write_file_atomically(path() / "huge", "");
  fs::resize_file(path() / "huge", std::uintmax_t{1} << 40);
  CHECK_THROWS_WITH(OpenFolder(path()).read("huge", 1 << 20), Catch::Contains("larger than"));
}

TEST_CASE_METHOD(TestFolder, "a file can be written under the longest name that there is") {
  const std::string name(255, 'n');
  write_file_atomically(path() / name, "1");
  OpenFolder(path()).write(name, "2");
  CHECK(read_file(path() / name) == "2");
  CHECK(entries() == 1);
}

TEST_CASE_METHOD(TestFolder, "only a folder can be opened") {
  std::ofstream(path() / "file") << "x";
  for (const char* name : {"file", "nothing"}) {
    CAPTURE(name);
    CHECK_THAT(message_of(ExitCode::io, [&] { OpenFolder open(path() / name); }),
               Catch::StartsWith("cannot open the folder " + (path() / name).string() + ": "));
  }
}
