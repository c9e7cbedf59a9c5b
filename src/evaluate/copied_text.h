// Finds stretches of texts that occur verbatim in a source: does a model copy it? Independent of models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

/// Compares texts with a source. Each call reads the source; longest() reads it once per bit of the longest text's
/// size.
class CopiedText {
 public:
  /// The ids of `source` must outlive it.
  CopiedText(std::span<const std::vector<std::int64_t>> texts, TokenView source);

  /// Fraction of all tokens that are in a stretch of at least `length` tokens that occurs in the source.
  double copied_share(std::int64_t length) const;

  /// A stretch of a text that occurs in the source, and where it first does.
  struct Copy {
    std::vector<std::int64_t> ids;
    std::int64_t source_begin = 0;
    std::int64_t length() const { return std::ssize(ids); }
  };
  /// The first of the longest stretches; empty if nothing occurs in the source.
  Copy longest() const;

 private:
  Copy first_copy(std::int64_t length) const;
  TokenView text() const { return {joined_.data(), sizeof joined_[0], std::ssize(joined_)}; }

  std::vector<std::uint32_t> joined_;  ///< the texts, each followed by an id that the source cannot have
  std::vector<std::int64_t> sizes_;    ///< of the texts
  TokenView source_;
};

}  // namespace chargpt
