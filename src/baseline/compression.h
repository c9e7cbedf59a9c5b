// What general compressors make of a text. Knows no loss and no model.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "text/corpus.h"

namespace chargpt {

/// Bytes of the texts `parts`, joined. A boundary between documents is one byte, which no character has in UTF-8.
using CompressedBytes = std::int64_t(const Vocabulary& vocabulary, const std::vector<TokenView>& parts,
                                     const Heartbeat& heartbeat);

/// In gzip format: deflate level 9, no file name (as `gzip -9n`).
std::int64_t gzip_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts,
                        const Heartbeat& heartbeat = {});

/// In xz format: preset 9 extreme, CRC-64 (as `xz -9e`), so a dictionary of 64 MB. A second or two for a megabyte.
std::int64_t xz_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts,
                      const Heartbeat& heartbeat = {});

constexpr int ppmd_order = 6;
constexpr std::int64_t ppmd_memory_bytes = 16 << 20;
/// By PPMd variant H of that order and memory (as `7z -m0=PPMd:o=6:mem=16m`), headers left out; where the memory is
/// full, it forgets all and begins again. 0.2 s for a megabyte. Source: Shkarin, PPM: one step to practicality (2002).
/// Error io, for lack of room for a temporary file; unavailable, in a program that was built without libarchive.
std::int64_t ppmd_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts,
                        const Heartbeat& heartbeat = {});
/// Whether this program has PPMd.
bool has_ppmd();

}  // namespace chargpt
