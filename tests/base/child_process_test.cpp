// Child processes made of /bin/sh: how they end, what they say, that they stop when asked.
#include "base/child_process.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "failure.h"

namespace chargpt {
namespace {

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

void wait_until_it_says(const ChildProcess& child, const std::string& text) {
  for (int i = 0; i < 500 && child.kept_output() != text; ++i) usleep(10'000);
  REQUIRE(child.kept_output() == text);
}

}  // namespace

TEST_CASE("a child's exit code and its words on stderr come back") {
  ChildProcess child(shell("echo unheard; echo 'it is broken' >&2; exit 65"));
  CHECK(child.wait() == 65);
  CHECK(child.ended() == 65);
  CHECK(child.kept_output() == "it is broken\n");
}

TEST_CASE("a child that a signal ended says which, as shells do") {
  ChildProcess child(shell("kill -KILL $$"));
  CHECK(child.wait() == 128 + SIGKILL);
}

TEST_CASE("a child runs on until it is asked to stop, and is asked once") {
  ChildProcess child(
      shell("trap 'echo asked >&2' TERM; echo ready >&2; while ! [ -s /dev/stdin ]; do sleep 0.05; done"));
  wait_until_it_says(child, "ready\n");
  CHECK_FALSE(child.ended());
  child.ask_to_stop();
  child.ask_to_stop();
  wait_until_it_says(child, "ready\nasked\n");
  kill(child.id(), SIGKILL);
  CHECK(child.wait() == 128 + SIGKILL);
}

TEST_CASE("a child is in a process group of its own and knows its parent") {
  ChildProcess child(shell("echo $(cut -d' ' -f5 /proc/$$/stat) $$ $CHARGPT_PARENT >&2"));
  child.wait();
  const std::string id = std::to_string(child.id());
  CHECK(child.kept_output() == id + " " + id + " " + std::to_string(getpid()) + "\n");
}

TEST_CASE("a child has its parent's environment, but for the parent's parent") {
  setenv("CHARGPT_TEST_KEPT", "kept", 1);
  setenv(parent_variable, "1", 1);
  ChildProcess child(shell("echo $CHARGPT_TEST_KEPT $(env | grep '^CHARGPT_PARENT=') >&2"));
  unsetenv(parent_variable);
  child.wait();
  CHECK(child.kept_output() == "kept CHARGPT_PARENT=" + std::to_string(getpid()) + "\n");
}

TEST_CASE("a child is waited for where SIGCHLD was ignored, as a supervisor may leave it") {
  std::signal(SIGCHLD, SIG_IGN);
  ChildProcess child(shell("exit 3"));
  CHECK(child.wait() == 3);
  CHECK(std::signal(SIGCHLD, SIG_DFL) == SIG_DFL);
}

TEST_CASE("a program that is not there is an error that names it") {
  CHECK_THAT(message_of(ExitCode::io, [] { ChildProcess child({"/no/such/program"}); }),
             Catch::Contains("/no/such/program"));
}

}  // namespace chargpt
