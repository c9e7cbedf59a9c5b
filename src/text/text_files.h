// The files that make a text: found, opened as sources, and checked for changes since last time. Knows no character.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "text/corpus.h"
#include "text/text_source.h"

namespace chargpt {

class TextFiles {
 public:
  /// Error missing, naming the first file that is not there; usage when there are no names.
  explicit TextFiles(const std::vector<std::string>& names);

  /// Bytes of all regular files together.
  std::uint64_t bytes() const;
  /// Whether all together have at most `bytes` bytes. Pipes count nothing: their size is not known.
  bool within(std::uint64_t bytes) const;
  /// Whether none is a pipe or the like, so that they can be read again and have a state.
  bool regular() const;
  /// Files as sources that hold their bytes, so that a second reading gives the same. `progress` is told of pipes.
  std::vector<TextSource> in_memory(std::uint64_t max_bytes, const ReadingProgress& progress) const;
  /// Files as sources read in pieces; pipes are held in memory, and `progress` is told of them.
  std::vector<TextSource> streamed(std::uint64_t max_pipe_bytes, const ReadingProgress& progress) const;

  /// Which files these are, in words for a checksum.
  std::string identity() const;
  /// What state they are in: size, time of writing and a sum of both ends of each. Not their whole content: reading
  /// that takes as long as encoding it.
  std::string state() const;

 private:
  std::vector<std::filesystem::path> paths_;  ///< sample_text_name among them is the built-in text, not a file
};

}  // namespace chargpt
