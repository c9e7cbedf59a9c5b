// Lines on stderr by level, read back from where stderr points.
#include "report/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/files.h"
#include "test.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

/// What one line of each kind leaves on stderr.
std::string lines_at(LogLevel level, bool color) {
  const TestFolder folder;
  const int file = ::open((folder / "stderr").c_str(), O_WRONLY | O_CREAT, 0600);
  std::fflush(stderr);
  const int real = ::dup(STDERR_FILENO);
  ::dup2(file, STDERR_FILENO);
  start_log(level, color);
  log_error("cannot {} %s");
  log_warning("a\x1b[2Jb");
  log_note("a note");
  log_detail("a detail");
  start_log(LogLevel::normal, false);
  std::fflush(stderr);
  ::dup2(real, STDERR_FILENO);
  ::close(real);
  ::close(file);
  return read_file(folder / "stderr");
}

}  // namespace

TEST_CASE("each level shows its lines, escaped and never taken as a format") {
  const std::string quiet = "chargpt: error: cannot {} %s\nchargpt: warning: a\\x1b[2Jb\n";
  CHECK(lines_at(LogLevel::quiet, false) == quiet);
  CHECK(lines_at(LogLevel::normal, false) == quiet + "chargpt: a note\n");
  CHECK(lines_at(LogLevel::verbose, false) == quiet + "chargpt: a note\nchargpt: a detail\n");
}

TEST_CASE("colour is there only when it was chosen") {
  CHECK(lines_at(LogLevel::quiet, true).find('\x1b') != std::string::npos);
}
