#include "text/symbol_index.h"

namespace chargpt {

SymbolIndex::SymbolIndex(const std::vector<char32_t>& code_points)
    : pages_(code_point_limit / page_size, 0), ids_(page_size, -1) {
  std::int32_t id = 0;
  for (const char32_t code_point : code_points) add(code_point, id++);
}

void SymbolIndex::add(char32_t code_point, std::int32_t id) {
  std::uint32_t& page = pages_[code_point / page_size];
  if (page == 0) {
    page = static_cast<std::uint32_t>(ids_.size() / page_size);
    ids_.resize(ids_.size() + page_size, -1);
  }
  ids_[page * page_size + code_point % page_size] = id;
}

}  // namespace chargpt
