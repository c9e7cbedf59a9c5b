// The corpus of the fuzzers, and what they found, as a test that needs no fuzzer: tests/fuzz/corpus/TARGET/*.
#include <filesystem>
#include <string>

#include "base/files.h"
#include "source_path.h"
#include "targets.h"
#include "test.h"

using namespace chargpt;
namespace fs = std::filesystem;

namespace {

const fs::path corpus = source_path("/tests/fuzz/corpus");

/// Places of a file from one that is damaged to the next. With sanitizers a reader takes 20 times as long, and long
/// files repeat themselves.
std::size_t stride(const std::string& file) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return file.size() > 1000 ? 13 : 2;
#endif
#endif
  return file.size() > 1000 ? 3 : 1;
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

TEST_CASE("every reader gets through every truncation of its files, and every byte changed") {
  for (const FuzzTarget& target : fuzz_targets()) {
    for (const auto& entry : fs::directory_iterator(corpus / target.name)) {
      CAPTURE(entry.path().string());
      const std::string whole = read_file(entry.path());
      for (std::size_t at = 0; at < whole.size(); at += stride(whole)) {
        CHECK_NOTHROW(target.read(whole.substr(0, at)));
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
        CHECK_NOTHROW(target.read(changed));
      }
    }
  }
}
