#include "base/token_view.h"

#include <algorithm>

namespace chargpt {
namespace {

constexpr std::int64_t stored_every = 8;  ///< windows: 1 byte a window, and a few steps to find one

}  // namespace

std::int64_t counted_targets(const TokenView& tokens, std::int64_t begin, std::int64_t length) {
  if (tokens.document() == TokenView::no_document) return length;
  for (std::int64_t target = length; target > 0; --target)
    if (tokens[begin + target] == tokens.document()) return target;
  return length;
}

WindowCut::WindowCut(const TokenView& tokens, std::int64_t length, std::int64_t stride)
    : tokens_(tokens), targets_(tokens.size() - 1), length_(length), stride_(stride) {
  if (tokens.document() == TokenView::no_document) {
    if (targets_ > 0) count_ = targets_ <= length ? 1 : 1 + (targets_ - length + stride - 1) / stride;
    return;
  }
  std::int64_t begin = 0;
  for (Window window; begin < targets_ && (window = at(begin)).from < targets_ - begin; begin = begin_after(window))
    if (count_++ % stored_every == 0) begins_.push_back(begin);
}

WindowCut::Window WindowCut::at(std::int64_t begin) const {
  const std::int64_t length = std::min(length_, targets_ - begin);
  const bool goes_on = begin > 0 && tokens_[begin] != tokens_.document();  // with the same text as the window before
  return {begin, length, goes_on ? length_ - stride_ : 0, counted_targets(tokens_, begin, length)};
}

/// A document longer than the window goes on in the next one.
std::int64_t WindowCut::begin_after(const Window& window) const {
  return window.begin + (tokens_[window.begin + window.to] == tokens_.document() ? window.to : stride_);
}

WindowCut::Window WindowCut::operator[](std::int64_t window) const {
  if (tokens_.document() == TokenView::no_document) return at(window * stride_);
  Window found = at(begins_[static_cast<std::size_t>(window / stored_every)]);
  for (std::int64_t more = window % stored_every; more > 0; --more) found = at(begin_after(found));
  return found;
}

}  // namespace chargpt
