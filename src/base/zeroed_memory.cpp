#include "base/zeroed_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.h"

namespace chargpt {

std::shared_ptr<void> zeroed_memory(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ExitCode::memory, "no " + std::to_string(bytes >> 20) +
                                      " MB of memory for a table: " + std::generic_category().message(errno) +
                                      "; lower model.ngram_rows or ngram_size");
  madvise(memory, bytes, MADV_HUGEPAGE);  // rows lie anywhere: looking up small pages would cost more than the rows
  return {memory, [bytes](void* begin) { munmap(begin, bytes); }};
}

}  // namespace chargpt
