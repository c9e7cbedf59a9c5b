// The size of a text after compression by PPMd. Independent of losses and models.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/heartbeat.h"

namespace chargpt {

/// Size in bytes of a text after compression by PPMd variant H of order 6 with 16 MB (as
/// `7z -m0=PPMd:o=6:mem=16m`), without headers. If the memory is full, PPMd restarts its model. 0.2 s per megabyte.
/// Source: Shkarin, PPM: one step to practicality (2002). Throws Error io if a temporary file cannot be written, and
/// std::bad_alloc.
std::int64_t ppmd_bytes(std::string_view text, const Heartbeat& heartbeat = {});

}  // namespace chargpt
