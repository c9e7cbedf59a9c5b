#include "base/zeroed_memory.h"

#include <cstdint>
#include <limits>

#include "base/error.h"
#include "test.h"

using namespace chargpt;

TEST_CASE("memory is zero, writable to its last byte and aligned to a page") {
  const auto memory = zeroed_memory(10'000);
  auto* const bytes = static_cast<unsigned char*>(memory.get());
  CHECK(reinterpret_cast<std::uintptr_t>(bytes) % 4096 == 0);
  CHECK(bytes[0] == 0);
  CHECK(bytes[9'999] == 0);
  bytes[9'999] = 1;
}

TEST_CASE("memory that there is not is refused with what to lower") {
  try {
    zeroed_memory(std::numeric_limits<std::size_t>::max() / 2);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::memory);
    CHECK(std::string(error.what()).find("lower model.ngram_rows") != std::string::npos);
  }
}
