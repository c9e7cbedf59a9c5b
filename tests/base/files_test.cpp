#include "base/files.h"
#include "base/bytes.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "failure.h"
#include "test_folder.h"

namespace chargpt {
namespace {

TEST_CASE_METHOD(TestFolder, "what is written is read back, every byte") {
  std::string bytes(200000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  write_file_atomically(path() / "f", bytes);
  CHECK(read_file(path() / "f") == bytes);
  CHECK(read_file(path() / "f", bytes.size()) == bytes);
  write_file_atomically(path() / "f", "");
  CHECK(read_file(path() / "f").empty());
  CHECK(entries() == 1);
}

TEST_CASE_METHOD(TestFolder, "a file that is not there, a folder and a file above the limit are named") {
  const std::string base = path().string();
  CHECK(error_of([&] { read_file(path() / "no"); }) == Failure{ExitCode::missing, base + "/no does not exist"});
  CHECK(error_of([&] { read_file(path()); }) ==
        Failure{ExitCode::io, "cannot read " + base + ": it is a folder; name a file"});
  write_file_atomically(path() / "f", "12345");
  CHECK(error_of([&] { read_file(path() / "f", 4); }) ==
        Failure{ExitCode::data, base + "/f is larger than 4 bytes, the limit here"});
  CHECK(error_of([&] { read_file(path() / "f/g"); }) == Failure{ExitCode::missing, base + "/f/g does not exist"});
}

TEST_CASE("an endless file is read no further than the limit") {
  CHECK(error_of([] { read_file("/dev/zero", 1000000); }).code == ExitCode::data);
}

TEST_CASE_METHOD(TestFolder, "a write that fails leaves the old file and nothing else") {
  fs::create_directory(path() / "taken");
  const std::string base = path().string();
  CHECK(error_of([&] { write_file_atomically(path() / "taken", "x"); }) ==
        Failure{ExitCode::io, "cannot replace " + base + "/taken: Is a directory"});
  CHECK(entries() == 1);
  CHECK(error_of([&] { write_file_atomically(path() / "no/f", "x"); }) ==
        Failure{ExitCode::io, "cannot write " + base + "/no/f: No such file or directory; make its folder first"});
}

TEST_CASE_METHOD(TestFolder, "a stranger's file or link with a temporary name is neither written to nor followed") {
  write_file_atomically(path() / "elsewhere", "mine");
  const auto temporary = [&](int number) {
    return path() / (".chargpt-" + std::to_string(::getpid()) + "-" + std::to_string(number) + ".partial").c_str();
  };
  constexpr int names = 1000;  // more than this process has used
  for (int number = 0; number < names; ++number) fs::create_symlink(path() / "elsewhere", temporary(number));
  write_file_atomically(path() / "f", "new");
  CHECK(read_file(path() / "f") == "new");
  CHECK(read_file(path() / "elsewhere") == "mine");
  CHECK_FALSE(fs::is_symlink(path() / "f"));
  CHECK(entries() == names + 2);
}

TEST_CASE_METHOD(TestFolder, "what a descriptor takes is counted") {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const int file = ::open((path() / "f").c_str(), O_RDWR | O_CREAT, 0666);
  CHECK(write_all(file, bytes("abc")) == 3);
  CHECK(write_all(file, bytes("d")) == 1);
  ::close(file);
  CHECK(read_file(path() / "f") == "abcd");
  errno = 0;
  CHECK(write_all(-1, bytes("abc")) == 0);
  CHECK(errno == EBADF);
}

TEST_CASE("crc64 gives xz's check value and can be continued") {
  CHECK(crc64("123456789") == 0x995DC9BBDF1939FA);
  CHECK(crc64("6789", crc64("12345")) == 0x995DC9BBDF1939FA);
  CHECK(crc64("") == 0);
}

TEST_CASE("of what the program keeps only regular files are read, and nothing is waited for") {
  const TestFolder folder;
  const std::string base = folder.path().string();
  REQUIRE(::mkfifo((base + "/pipe").c_str(), 0600) == 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address {};
  address.sun_family = AF_UNIX;
  (base + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<const struct sockaddr*>(&address), sizeof address) == 0);
  for (const std::string& path : {base, base + "/pipe", base + "/socket", std::string("/dev/zero")})
    CHECK(error_of([&] { read_regular_file(path); }) == data_error(path + " is not a regular file"));
  ::close(socket);
  CHECK(error_of([&] { read_regular_file(folder / "no"); }).code == ExitCode::missing);
  write_file_atomically(folder / "f", "abc");
  CHECK(read_regular_file(folder / "f") == "abc");
  CHECK(error_of([&] { read_regular_file(folder / "f", 2); }).code == ExitCode::data);
}

}  // namespace
}  // namespace chargpt
