#include "network/window_scorer.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/token_view.h"
#include "network/model.h"

namespace chargpt {
namespace {

void copy(const WindowBatch& windows, std::int64_t shift, std::int64_t* to) {
  for (const std::int64_t start : windows.starts) {
    windows.tokens.copy(start + shift, windows.T, to);
    to += windows.T;
  }
}

}  // namespace

WindowBatch WindowBatch::part(std::int64_t first, std::int64_t count) const {
  return {tokens, starts.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), T};
}

void WindowBatch::copy_inputs(std::int64_t* to) const {
  copy(*this, 0, to);
}

void WindowBatch::copy_targets(std::int64_t* to) const {
  copy(*this, 1, to);
  for (const std::int64_t start : starts) {
    std::fill(to + counted_targets(tokens, start, T), to + T, no_target);
    to += T;
  }
}

std::int64_t WindowBatch::counted() const {
  std::int64_t count = 0;
  for (const std::int64_t start : starts) count += counted_targets(tokens, start, T);
  return count;
}

void check_windows(const WindowBatch& windows, std::int64_t vocab_size, std::int64_t block_size) {
  if (windows.T < 1 || windows.T > block_size)
    throw Error(ExitCode::internal, "T = ", windows.T, " is outside 1 to model.block_size = ", block_size);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(windows.T + 1));
  for (const std::int64_t start : windows.starts) {
    if (start < 0 || start + windows.T >= windows.tokens.size())
      throw Error(ExitCode::internal, "a window of ", windows.T, " ids at offset ", start, " exceeds the text of ",
                  windows.tokens.size());
    windows.tokens.copy(start, windows.T + 1, ids.data());
    check_ids(ids, vocab_size, "a window");
  }
}

}  // namespace chargpt
