#include "cli/training_half.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

const TrainingHalf* half = nullptr;

/// chargpt-training, beside this program's own file.
fs::path training_program() {
  std::error_code failed;
  const fs::path own = fs::read_symlink("/proc/self/exe", failed);
  return own.parent_path() / "chargpt-training";
}

/// The arguments that this process was started with.
std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

Error cannot_continue(const fs::path& program, const std::string& reason) {
  return {ExitCode::unavailable, "this command needs LibTorch, and " + program.string() +
                                     ", the part of chargpt that has it, " + reason +
                                     "; build it (scripts/build.sh) or put it there"};
}

/// What the loader says about the program's libraries, asked as ldd(1) does, without running the program.
std::string libraries_of(const fs::path& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string listed;
  char buffer[4096];
  for (ssize_t count = 1; child > 0 && count > 0;) {
    count = ::read(ends[0], buffer, sizeof buffer);
    if (count > 0) listed.append(buffer, static_cast<std::size_t>(count));
    if (count < 0 && errno == EINTR) count = 1;
  }
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return listed;
}

/// The first library that the program needs and the loader cannot find; empty: none.
std::string missing_library(const fs::path& program) {
  const std::string listed = libraries_of(program);
  const std::size_t found = listed.find(" => not found");
  if (found == std::string::npos) return "";
  const std::size_t begin = listed.find_last_of("\t\n", found) + 1;
  return listed.substr(begin, found - begin);
}

}  // namespace

const TrainingHalf* training_half() {
  return half;
}

void be_training_half(const TrainingHalf& training) {
  half = &training;
}

void continue_in_training_half() {
  const fs::path program = training_program();
  std::vector<std::string> words = own_words();
  if (words.empty()) words.emplace_back("chargpt");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (::access(program.c_str(), X_OK) != 0)
    throw cannot_continue(program, std::string("cannot be run: ") + std::strerror(errno));
  if (const std::string library = missing_library(program); !library.empty())
    throw cannot_continue(program, "cannot find " + library);
  ::execv(program.c_str(), arguments.data());
  throw cannot_continue(program, std::string("cannot be run: ") + std::strerror(errno));
}

}  // namespace chargpt
