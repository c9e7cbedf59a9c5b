// A text cut into windows that score each predictable id once. Knows no model.
//
// A window of `length` ids from `begin` on has them as inputs, and as targets the ids one place on. Where the text has
// documents, a window holds several short ones, each from its beginning to its end, or a part of a long one: targets
// after the last end are those of a document that the next window holds whole.
#pragma once

#include <cstdint>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

/// How many of a window's targets count: those up to the last end of a document among them, all where there is none.
std::int64_t counted_targets(const TokenView& tokens, std::int64_t begin, std::int64_t length);

class WindowCut {
 public:
  struct Window {
    std::int64_t begin, length;
    std::int64_t from, to;  ///< of the targets, those that are scored in this window and no other
  };

  /// Windows begin every `stride` ids (1 to `length`), in each document anew; of all but the first only the targets
  /// that no earlier window held are scored. The text's last window is short.
  WindowCut(const TokenView& tokens, std::int64_t length, std::int64_t stride);
  WindowCut(const TokenView& tokens, std::int64_t length) : WindowCut(tokens, length, length) {}

  std::int64_t count() const { return count_; }
  const TokenView& tokens() const { return tokens_; }
  Window operator[](std::int64_t window) const;

 private:
  Window at(std::int64_t begin, std::int64_t from) const;
  void cut_documents();

  TokenView tokens_;
  std::int64_t targets_, length_, stride_, count_ = 0;
  std::vector<std::int64_t> begins_;        ///< where there are documents; else it is counted
  std::vector<std::int32_t> first_scored_;  ///< likewise
};

}  // namespace chargpt
