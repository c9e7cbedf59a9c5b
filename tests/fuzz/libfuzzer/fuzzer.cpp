// One target of ../targets.h for libFuzzer: CHARGPT_FUZZ_TARGET names it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "../targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const chargpt::FuzzTarget& target : chargpt::fuzz_targets()) {
    if (target.name != CHARGPT_FUZZ_TARGET) continue;
    target.read({reinterpret_cast<const char*>(data), size});
    return 0;
  }
  std::abort();
}
