#include "compute/memory.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <string>

namespace chargpt {
namespace {

/// The bytes of "you tried to allocate 123 bytes" or "Tried to allocate 2.00 GiB", as LibTorch wrote them; empty where
/// there are none.
std::string amount_asked_for(const std::string& message) {
  const std::string before = "ried to allocate ";
  const std::size_t found = message.find(before);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + before.size();
  return message.substr(begin, message.find_first_of(".,\n", message.find(' ', begin)) - begin);
}

Error memory_error(const std::string& where, const std::string& amount) {
  const std::string asked = amount.empty() ? "" : " (" + amount + " more were asked for)";
  return {ExitCode::memory,
          "out of " + where + " memory" + asked +
              "; lower train.batch_size (and raise train.gradient_accumulation_steps to keep the tokens per "
              "step), model.block_size, or the model's n_embd and n_layer"};
}

}  // namespace

std::optional<Error> as_memory_error(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return memory_error("host", "");
  const auto* error = dynamic_cast<const c10::Error*>(&failure);
  if (!error) return std::nullopt;
  const std::string message = error->what_without_backtrace();
  if (message.find("DefaultCPUAllocator") != std::string::npos) return memory_error("host", amount_asked_for(message));
  const bool device = dynamic_cast<const c10::OutOfMemoryError*>(error) ||
                      message.find("out of memory") != std::string::npos ||
                      message.find("ALLOC_FAILED") != std::string::npos;
  if (device) return memory_error("device", amount_asked_for(message));
  return std::nullopt;
}

std::int64_t physical_memory() {
  const std::int64_t machine = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  std::ifstream file("/sys/fs/cgroup/memory.max");  // "max" or a number of bytes
  std::int64_t limit = 0;
  return file >> limit ? std::min(machine, limit) : machine;
}

}  // namespace chargpt
