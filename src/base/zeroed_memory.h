// Large memory that is zero from the start. Knows no tensor.
#pragma once

#include <cstddef>
#include <memory>

namespace chargpt {

/// `bytes` (at least 1) of zeros from the system, aligned to a page: pages (large ones where the system has them) take
/// up memory, and time, only when they are first written. Error memory where the system refuses.
std::shared_ptr<void> zeroed_memory(std::size_t bytes);

}  // namespace chargpt
