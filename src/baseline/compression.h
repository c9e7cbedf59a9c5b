// What general compressors make of a text. Knows no loss and no model.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "text/corpus.h"

namespace chargpt {

/// Bytes of the text `ids` in gzip format: deflate level 9, no file name (as `gzip -9n`).
std::int64_t gzip_bytes(const Vocabulary& vocabulary, TokenView ids, const Heartbeat& heartbeat = {});

/// Bytes of the texts `parts`, joined, in xz format: preset 9 extreme, CRC-64 (as `xz -9e`). Seconds for megabytes.
std::int64_t xz_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts,
                      const Heartbeat& heartbeat = {});

}  // namespace chargpt
