#include "cli/training_half.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "cli/process.h"
#include "cli/version.h"

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

Error cannot_continue(const fs::path& program, const std::string& reason, const std::string& remedy) {
  return {ExitCode::unavailable, "this command needs LibTorch, and " + program.string() +
                                     ", the part of chargpt that has it, " + reason + "; " + remedy};
}

Error cannot_be_run(const fs::path& program, int reason) {
  return cannot_continue(program, std::string("cannot be run: ") + std::strerror(reason),
                         "build it (scripts/build.sh) or put it there");
}

/// What the loader says about the program's libraries, and how it ended.
struct Trace {
  std::string listed;
  int code = 0;  ///< as ChildProcess::wait gives it
};

/// Asked as ldd(1) does, without running the program; `bound`: as `ldd -r` does, which looks up every symbol and takes
/// 20 times as long.
Trace trace_loading(const fs::path& program, bool bound) {
  ChildOptions options{.keeps_stdout = true, .environment = {"LD_TRACE_LOADED_OBJECTS=1"}};
  if (bound) options.environment.insert(options.environment.end(), {"LD_WARN=1", "LD_BIND_NOW=1"});
  ChildProcess loader({program.string()}, options);
  const int code = loader.wait();
  return {loader.kept_output(), code};
}

/// Of the first line with `mark`, what stands before it, or after it. Empty where no line has it.
std::string before(const std::string& text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  if (found == std::string::npos) return "";
  const std::size_t begin = text.find_last_of("\t\n", found) + 1;
  return text.substr(begin, found - begin);
}

std::string after(const std::string& text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Libraries that run out of memory as they are loaded end the process before it can say so. Tried where there is a
/// limit, in a child.
bool begins_within_limit(const fs::path& program) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return ChildProcess({program.string(), "--version"}).wait() == 0;
}

/// How many symbols the program needs that no library has.
std::size_t count_missing(const fs::path& program) {
  const std::string listed = trace_loading(program, /*bound=*/true).listed, end = "\t(" + program.string() + ")\n";
  std::size_t count = 0;
  for (std::size_t at = listed.find(end); at != std::string::npos; at = listed.find(end, at + 1)) ++count;
  return count;
}

/// As the loader says that it could not map a library.
bool is_lack_of_memory(const std::string& said) {
  return said.find("cannot map") != std::string::npos || said.find("failed to map") != std::string::npos ||
         said.find("Cannot allocate memory") != std::string::npos;
}

Error out_of_address_space() {
  return {ExitCode::memory,
          "out of memory: LibTorch, which this command needs, takes about 0.5 GB of address space; raise the limit "
          "(ulimit -v)"};
}

/// Why the loader cannot bring the program's libraries together; empty: it can.
std::string loading_problem(const fs::path& program) {
  const Trace trace = trace_loading(program, /*bound=*/false);
  if (const std::string library = before(trace.listed, " => not found"); !library.empty())
    return "cannot find " + library;
  if (trace.code > 128)
    return "cannot be loaded: one of its libraries is damaged (" + std::string(strsignal(trace.code - 128)) + ")";
  if (const std::string said = after(trace.listed, "error while loading shared libraries: "); !said.empty()) {
    if (is_lack_of_memory(said)) throw out_of_address_space();
    return "cannot be loaded: " + said;
  }
  const std::string line = after(trace.listed, "libtorch_cpu.so => "), path = line.substr(0, line.find(" ("));
  std::error_code ignored;
  if (fs::file_size(path, ignored) == libtorch_bytes()) return "";
  const std::size_t missing = count_missing(program);
  if (missing == 0) return "";
  return "was built with LibTorch " + libtorch_version_built_with() + ", but finds another, " + path +
         ", which lacks " + std::to_string(missing) + " symbols that it needs";
}

/// LibTorch's OpenMP threads go on spinning after each of its parallel operations, by default for milliseconds, and
/// take the processors from the threads that do the rest of a step: with two of them on two cores a step of the CPU
/// engine took as long as with one. They spin for some tens of microseconds instead, unless the user has set how they
/// wait. The OpenMP library reads this when it is loaded.
///
/// CUDA's matrix products repeat bit for bit only with workspaces of a fixed size, which cuBLAS too reads when it is
/// loaded. Source: PyTorch's notes on reproducibility.
void set_environment_of_libtorch() {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "3000", /*overwrite=*/0);
}

}  // namespace

const TrainingHalf* training_half() {
  return half;
}

void be_training_half(const TrainingHalf& training) {
  half = &training;
}

void continue_in_training_half() {
  if (const auto error = working_folder_error()) throw Error(*error);
  const fs::path program = training_program();
  std::vector<std::string> words = own_words();
  if (words.empty()) words.emplace_back("chargpt");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (::access(program.c_str(), X_OK) != 0) throw cannot_be_run(program, errno);
  if (std::error_code ignored; fs::equivalent(program, "/proc/self/exe", ignored))  // it would go on for ever
    throw cannot_continue(program, "is this program itself", "build it again (scripts/build.sh)");
  if (const std::string problem = loading_problem(program); !problem.empty())
    throw cannot_continue(program, problem, "build it again (scripts/build.sh), or correct LD_LIBRARY_PATH");
  if (!begins_within_limit(program)) throw out_of_address_space();
  set_environment_of_libtorch();
  ::execv(program.c_str(), arguments.data());
  throw cannot_be_run(program, errno);
}

void continue_in_training_half_if_there() {
  if (half != nullptr) return;
  try {
    continue_in_training_half();
  } catch (const Error&) {
    // It is not there, and what this half knows will do.
  }
}

}  // namespace chargpt
