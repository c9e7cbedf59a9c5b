#include "base/token_view.h"

#include <algorithm>

namespace chargpt {

std::int64_t counted_targets(const TokenView& tokens, std::int64_t begin, std::int64_t length) {
  if (tokens.document() == TokenView::no_document) return length;
  for (std::int64_t target = length; target > 0; --target)
    if (tokens[begin + target] == tokens.document()) return target;
  return length;
}

WindowCut::WindowCut(const TokenView& tokens, std::int64_t length, std::int64_t stride)
    : tokens_(tokens), targets_(tokens.size() - 1), length_(length), stride_(stride) {
  if (tokens.document() != TokenView::no_document)
    cut_documents();
  else if (targets_ > 0)
    count_ = targets_ <= length ? 1 : 1 + (targets_ - length + stride - 1) / stride;
}

WindowCut::Window WindowCut::at(std::int64_t begin, std::int64_t from) const {
  const std::int64_t length = std::min(length_, targets_ - begin);
  return {begin, length, from, counted_targets(tokens_, begin, length)};
}

void WindowCut::cut_documents() {
  for (std::int64_t begin = 0, from = 0; begin + from < targets_;) {
    begins_.push_back(begin);
    first_scored_.push_back(static_cast<std::int32_t>(from));
    const Window window = at(begin, from);
    const bool goes_on = tokens_[begin + window.to] != tokens_.document();  // a document longer than the window
    begin += goes_on ? stride_ : window.to;
    from = goes_on ? length_ - stride_ : 0;
  }
  count_ = static_cast<std::int64_t>(begins_.size());
}

WindowCut::Window WindowCut::operator[](std::int64_t window) const {
  if (tokens_.document() == TokenView::no_document) return at(window * stride_, window == 0 ? 0 : length_ - stride_);
  const auto index = static_cast<std::size_t>(window);
  return at(begins_[index], first_scored_[index]);
}

}  // namespace chargpt
