// The corpus of the fuzzers, and what they found, as a test that needs no fuzzer: tests/fuzz/corpus/TARGET/*.
#include <filesystem>
#include <string>

#include "base/files.h"
#include "drawn.h"
#include "source_path.h"
#include "targets.h"
#include "test.h"

using namespace chargpt;

namespace {

const fs::path corpus = source_path("/tests/fuzz/corpus");

/// Reads the files of each target cut off at some places, and with a byte changed there: so many places, drawn anew.
void read_damaged(std::size_t most) {
  const unsigned seed = seed_of_this_time();
  INFO("CHARGPT_SEED=" << seed);
  std::mt19937 random(seed);
  for (const FuzzTarget& target : fuzz_targets()) {
    for (const auto& entry : fs::directory_iterator(corpus / target.name)) {
      const std::string whole = read_file(entry.path());
      for (std::size_t i = 0; i < std::min(most, whole.size()); ++i) {
        const std::size_t at = most < whole.size() ? random() % whole.size() : i;
        CAPTURE(entry.path().string(), at);
        CHECK_NOTHROW(target.read(whole.substr(0, at)));
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
        CHECK_NOTHROW(target.read(changed));
      }
    }
  }
}

}  // namespace

TEST_CASE("every reader gets through every file of the corpus, its own and the others'") {
  for (const FuzzTarget& target : fuzz_targets()) {
    int own = 0;
    for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
      if (!entry.is_regular_file()) continue;
      CAPTURE(std::string(target.name), entry.path().string());
      CHECK_NOTHROW(target.read(read_file(entry.path())));
      own += entry.path().parent_path().filename() == target.name;
    }
    INFO(std::string(target.name));
    CHECK(own > 0);
  }
}

TEST_CASE("every reader gets through its files cut off or with a byte changed, at any place") {
  read_damaged(12);
}

TEST_CASE("every reader gets through every truncation of its files, and every byte changed", "[soak]") {
  read_damaged(std::string::npos);
}
