// The ids of a large text as one file, mapped into memory: whole or absent, and stale once the text has changed.
// Knows nothing of how a text is encoded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "text/corpus.h"

namespace chargpt {

/// Where the ids of long texts wait for the next start: $CHARGPT_CACHE, else $XDG_CACHE_HOME/chargpt, else
/// $HOME/.cache/chargpt. Empty where CHARGPT_CACHE is, or none of them is set: then none are kept.
std::filesystem::path id_cache_folder();

/// Whether a file of this name is a finished cache: "ids-", 16 hexadecimal digits, ".bin".
bool is_id_cache(std::string_view name);

/// Takes the ids of a text, in order, a run at a time.
using IdSink = std::function<void(std::span<const std::byte>)>;

constexpr std::uint64_t most_cached_bytes = std::uint64_t{8} << 30;

class IdCache {
 public:
  struct Content {
    Vocabulary vocabulary;
    TokenView tokens;
    std::shared_ptr<const void> owner;
    std::uint64_t crc64 = 0;  ///< what the ids summed to when they were written
  };

  /// `path`: the file; `key`: identifies the text that it must hold.
  IdCache(std::filesystem::path path, std::uint64_t key) : path_(std::move(path)), key_(key) {}
  const std::filesystem::path& path() const { return path_; }

  /// None if the file is absent, of another text or format, cut short, or holds ids outside its vocabulary. Checking
  /// the sum of the ids is left to the caller, who needs it anyway.
  std::optional<Content> open() const;

  /// Replaces the file: `fill` is called with the sink of its ids, of `width` bytes each; then removes the oldest other
  /// caches of the folder while all together are above `most_bytes`. Error io: disk full and the like, and where
  /// the ids would take more than a quarter of the free space.
  void write(const Vocabulary& vocabulary, int width, std::int64_t tokens,
             const std::function<void(const IdSink&)>& fill, std::uint64_t most_bytes = most_cached_bytes) const;

 private:
  std::filesystem::path path_;
  std::uint64_t key_;
};

}  // namespace chargpt
