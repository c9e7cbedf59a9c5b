// The files that make a text: opened as sources, and checked for changes since last time. Knows no character.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "text/corpus.h"
#include "text/text_listing.h"
#include "text/text_source.h"

namespace chargpt {

/// Most bytes that are taken from a pipe or standard input, which are held in memory.
constexpr std::uint64_t most_piped_bytes = std::uint64_t{1} << 30;

class TextFiles {
 public:
  explicit TextFiles(const TextListing& listing);

  /// Bytes of all regular files together, as they are now.
  std::uint64_t bytes() const;
  /// Whether all together have at most `bytes` bytes. Pipes count nothing: their size is not known.
  bool within(std::uint64_t bytes) const;
  /// Whether none is a pipe or the like, so that they can be read again and have a state.
  bool regular() const;
  /// Files as sources that hold their bytes, so that a second reading gives the same. `progress` is told of pipes.
  std::vector<TextSource> in_memory(const ReadingProgress& progress) const;
  /// Files as sources read in pieces; pipes are held in memory, and `progress` is told of them.
  std::vector<TextSource> streamed(const ReadingProgress& progress) const;

  /// Which files these are, in words for a checksum.
  std::string identity() const;
  /// What state they are in: size, time of writing and a sum of both ends of each. Not their whole content: reading
  /// that takes as long as encoding it.
  std::string state() const;

 private:
  /// One source: of a sample or of standard input the path means nothing.
  struct Entry {
    TextKind kind;
    std::filesystem::path path;
    bool is_regular() const;
    /// Held in memory.
    TextSource held(const ReadingProgress& progress) const;
  };
  std::vector<Entry> entries_;
};

}  // namespace chargpt
