// What a crash leaves behind, and that nothing else goes with it.
#include "base/unfinished_files.h"

#include <fstream>
#include <set>

#include "test.h"
#include "test_folder.h"

using namespace chargpt;
namespace fs = std::filesystem;

TEST_CASE("names of unfinished files, and names that only look like them") {
  CHECK(is_unfinished_name(".config.json.tmp-4711-0"));
  CHECK(is_unfinished_name(".a.tmp-b.tmp-1-2"));
  for (const char* name : {"config.json", "config.json.tmp-4711-0", ".tmp-4711-0", ".config.json.tmp-4711", ".x.tmp--1",
                           ".x.tmp-1-", ".x.tmp-1-2-3", ".x.tmp-a-2", ".lock", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_unfinished_name(name));
  }
}

TEST_CASE("unfinished files go, all others stay") {
  const TestFolder folder;
  for (const char* name : {".metrics.jsonl.tmp-17-3", ".lock", "metrics.jsonl", "thesis.tmp-17-3"})
    std::ofstream(folder / name) << "x";
  remove_unfinished_files(folder / ".");
  remove_unfinished_files(folder / "no-such-folder");
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder / ".")) left.insert(entry.path().filename().string());
  CHECK(left == std::set<std::string>{".lock", "metrics.jsonl", "thesis.tmp-17-3"});
}
