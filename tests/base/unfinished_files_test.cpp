// Names of what a crash leaves behind.
#include "base/unfinished_files.h"

#include "test.h"

using namespace chargpt;

TEST_CASE("names of unfinished files, and names that only look like them") {
  CHECK(unfinished_file_of(".config.json.tmp-4711-0") == "config.json");
  CHECK(unfinished_file_of(".a.tmp-b.tmp-1-2") == "a.tmp-b");
  CHECK(unfinished_file_of(".chargpt-4711-0.tmp") == "");
  for (const char* name : {"config.json", "config.json.tmp-4711-0", ".tmp-4711-0", ".config.json.tmp-4711", ".x.tmp--1",
                           ".x.tmp-1-", ".x.tmp-1-2-3", ".chargpt-.tmp", ".chargpt-1-.tmp", ".chargpt-a-1.tmp",
                           "chargpt-1-2.tmp", ".x.tmp-a-2", ".lock", ""}) {
    CAPTURE(name);
    CHECK(unfinished_file_of(name) == std::nullopt);
  }
}
