// What the compressor PPMd makes of a text. Independent of losses and models.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "text/vocabulary.h"

namespace chargpt {

constexpr int ppmd_order = 6;
constexpr std::int64_t ppmd_memory_bytes = 16 << 20;

/// Bytes of the texts `parts`, joined, by PPMd variant H of that order and memory (as `7z -m0=PPMd:o=6:mem=16m`),
/// without headers; where the memory is full, it forgets all and begins again. A boundary between documents is one
/// byte, which no character has in UTF-8. 0.2 s for a megabyte. Source: Shkarin, PPM: one step to practicality (2002).
/// Errors: io where a temporary file cannot be written, memory.
std::int64_t ppmd_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts,
                        const Heartbeat& heartbeat = {});

}  // namespace chargpt
