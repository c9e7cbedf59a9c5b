// From a code point to its id in constant time: a table of pages, so that a text of any script is encoded at the speed
// of two array reads a character. Knows no text.
#pragma once

#include <cstdint>
#include <vector>

#include "base/utf8.h"

namespace chargpt {

class SymbolIndex {
 public:
  /// id = position in `code_points`, each a scalar value.
  explicit SymbolIndex(const std::vector<char32_t>& code_points)
      : pages_(code_point_limit / page_size, 0), ids_(page_size, -1) {
    std::int32_t id = 0;
    for (const char32_t code_point : code_points) add(code_point, id++);
  }

  /// Gives a code point without an id this one.
  void add(char32_t code_point, std::int32_t id) {
    std::uint32_t& page = pages_[code_point / page_size];
    if (page == 0) {
      page = static_cast<std::uint32_t>(ids_.size() / page_size);
      ids_.resize(ids_.size() + page_size, -1);
    }
    ids_[page * page_size + code_point % page_size] = id;
  }

  /// Looks ids up: two pointers, which a loop that writes bytes can hold in registers. The index must outlive it.
  struct View {
    const std::uint32_t* pages;
    const std::int32_t* ids;
    /// -1 if unknown; code_point must be below code_point_limit.
    std::int32_t operator[](char32_t code_point) const {
      return ids[pages[code_point / page_size] * page_size + code_point % page_size];
    }
  };
  View view() const { return {pages_.data(), ids_.data()}; }
  std::int32_t operator[](char32_t code_point) const { return view()[code_point]; }

 private:
  static constexpr std::uint32_t page_size = 256;
  /// (code_point_limit / page_size) number of the page in ids_; 0: the page of unknowns
  std::vector<std::uint32_t> pages_;
  std::vector<std::int32_t> ids_;  ///< (pages in use, page_size)
};

}  // namespace chargpt
