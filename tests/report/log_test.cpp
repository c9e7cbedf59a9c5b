// Lines on stderr, read back from where stderr points.
#include "report/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/files.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

/// What `write` leaves on stderr.
template <class Write>
std::string written(Write write) {
  const TestFolder folder;
  const int file = ::open((folder / "stderr").c_str(), O_WRONLY | O_CREAT, 0600);
  std::fflush(stderr);
  const int real = ::dup(STDERR_FILENO);
  ::dup2(file, STDERR_FILENO);
  write();
  start_log(/*quiet=*/false, false);
  std::fflush(stderr);
  ::dup2(real, STDERR_FILENO);
  ::close(real);
  ::close(file);
  return read_file(folder / "stderr");
}

/// One line of each kind.
std::string lines_at(bool quiet, bool color) {
  return written([&] {
    start_log(quiet, color);
    log_error("cannot {} %s");
    log_warning("a\x1b[2Jb");
    log_note("a note");
  });
}

}  // namespace

TEST_CASE("quiet or not, lines are escaped and never taken as a format") {
  const std::string quiet = "chargpt: error: cannot {} %s\nchargpt: warning: a\\x1B[2Jb\n";
  CHECK(lines_at(true, false) == quiet);
  CHECK(lines_at(false, false) == quiet + "chargpt: a note\n");
}

TEST_CASE("colour is there only when it was chosen") {
  CHECK(lines_at(true, true).find('\x1b') != std::string::npos);
}

TEST_CASE("on a terminal a line is broken between words, and what follows stands under its beginning") {
  const std::string lines = written([] {
    start_log(/*quiet=*/false, false, 30);
    log_note("the run is saved; chargpt eval r gives its figures");
    log_note("a short one");
  });
  CHECK(lines ==
        "chargpt: the run is saved;\n         chargpt eval r gives\n         its figures\nchargpt: a short one\n");
}

TEST_CASE("a message is one line, whatever the names in it hold") {
  const std::string lines = written([] {
    start_log(/*quiet=*/false, false, 0);
    log_error("x\nchargpt: error: forged does not exist");
  });
  CHECK(lines == "chargpt: error: x\\nchargpt: error: forged does not exist\n");
}

TEST_CASE("a progress line is cleared before a message, once, and left alone by one that is not shown") {
  const std::string lines = written([] {
    start_log(/*quiet=*/true, false);
    write_progress("\rstep 5\x1b[K");
    log_note("one that is not shown");
    start_log(/*quiet=*/false, false);
    write_progress("\rstep 6\x1b[K");
    log_warning("a warning");
    log_note("a note");
    write_progress("val 2.0\n");
    log_note("another");
    write_progress("\rstep 7\x1b[K");
    write_progress(clear_line);
    log_note("the last");
  });
  CHECK(lines ==
        "\rstep 5\x1b[K\rstep 6\x1b[K\r\x1b[Kchargpt: warning: a warning\nchargpt: a note\nval 2.0\n"
        "chargpt: another\n\rstep 7\x1b[K\r\x1b[Kchargpt: the last\n");
}
