// Child processes made of /bin/sh: how they end, what they say, that they stop when asked.
#include "base/child_process.h"

#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "test.h"

namespace chargpt {
namespace {

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

void wait_until_it_says(const ChildProcess& child, const std::string& text) {
  for (int i = 0; i < 500 && child.errors() != text; ++i) usleep(10'000);
  REQUIRE(child.errors() == text);
}

}  // namespace

TEST_CASE("a child's exit code and its words on stderr come back") {
  ChildProcess child(shell("echo unheard; echo 'it is broken' >&2; exit 65"));
  CHECK(child.wait() == 65);
  CHECK(child.ended() == 65);
  CHECK(child.errors() == "it is broken\n");
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
  CHECK(child.errors() == id + " " + id + " " + std::to_string(getpid()) + "\n");
}

TEST_CASE("a program that is not there is an error that names it") {
  try {
    ChildProcess child({"/no/such/program"});
    FAIL("it was started");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::io);
    CHECK(std::string(error.what()).find("/no/such/program") != std::string::npos);
  }
}

}  // namespace chargpt
