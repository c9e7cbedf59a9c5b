#include "base/token_view.h"

#include <algorithm>

namespace chargpt {
namespace {

template <class Id>
void widen(std::span<const std::byte> ids, std::int64_t* out) {
  const auto* first = reinterpret_cast<const Id*>(ids.data());
  std::copy(first, first + ids.size() / sizeof(Id), out);
}

}  // namespace

std::int64_t TokenView::operator[](std::int64_t i) const {
  std::int64_t id = 0;
  copy(i, 1, &id);
  return id;
}

void TokenView::copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  const auto ids = slice(begin, count).bytes();
  if (width_ == 1) return widen<std::uint8_t>(ids, out);
  if (width_ == 2) return widen<std::uint16_t>(ids, out);
  widen<std::uint32_t>(ids, out);
}

}  // namespace chargpt
