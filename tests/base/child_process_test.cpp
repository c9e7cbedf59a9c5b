// Child processes made of /bin/sh: how they end, that they stop when asked, what they inherit.
#include "base/child_process.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/files.h"
#include "failure.h"
#include "test_folder.h"

namespace chargpt {
namespace {

struct Shell : TestFolder {
  const fs::path said = path() / "said";

  /// The script writes into $F.
  std::vector<std::string> command(const std::string& script) const {
    return {"/bin/sh", "-c", "F=" + said.string() + "; " + script};
  }
  std::string words() const { return fs::exists(said) ? read_file(said) : ""; }
  void wait_until_it_says(const std::string& text) const {
    for (int i = 0; i < 500 && words() != text; ++i) usleep(10'000);
    REQUIRE(words() == text);
  }
};

}  // namespace

TEST_CASE_METHOD(Shell, "a child's exit code comes back, or the signal that ended it, as shells do") {
  ChildProcess child(command("exit 65")), killed(command("kill -KILL $$"));
  CHECK(child.wait() == 65);
  CHECK(child.ended() == 65);
  CHECK(killed.wait() == 128 + SIGKILL);
}

TEST_CASE_METHOD(Shell, "a child runs on until it is asked to stop, and is asked once") {
  {
    const auto asked = "trap 'echo asked >> $F; sleep 0.2; exit 7' TERM; echo begun > $F; ";
    ChildProcess child(command(asked + std::string("while ! [ -s /dev/stdin ]; do sleep 0.05; done")));
    wait_until_it_says("begun\n");
    CHECK_FALSE(child.ended());
  }
  CHECK(words() == "begun\nasked\n");
}

TEST_CASE_METHOD(Shell, "a child is in a process group of its own and knows its parent, not the parent's parent") {
  setenv("CHARGPT_TEST_KEPT", "kept", 1);
  setenv(parent_variable, "1", 1);
  ChildProcess child(
      command("[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo own $CHARGPT_TEST_KEPT > $F; "
              "env | grep '^CHARGPT_PARENT=' >> $F"));
  unsetenv(parent_variable);
  child.wait();
  CHECK(words() == "own kept\nCHARGPT_PARENT=" + std::to_string(getpid()) + "\n");
}

TEST_CASE_METHOD(Shell, "a child is waited for where SIGCHLD was ignored, as a supervisor may leave it") {
  std::signal(SIGCHLD, SIG_IGN);
  ChildProcess child(command("exit 3"));
  CHECK(child.wait() == 3);
  CHECK(std::signal(SIGCHLD, SIG_DFL) == SIG_DFL);
}

TEST_CASE("a program that is not there is an error that names it") {
  CHECK_THAT(message_of(ExitCode::io, [] { ChildProcess child({"/no/such/program"}); }),
             Catch::Contains("/no/such/program"));
}

}  // namespace chargpt
