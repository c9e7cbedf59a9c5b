// Rows of cells as aligned plain text, or as Markdown. Does not know what the cells mean.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace chargpt {

/// The cell of a value that is not there.
inline constexpr const char* missing = "–";

/// Columns two spaces apart under a line of headings; a column of numbers is aligned to the right.
/// Cells are UTF-8 on one line, wide symbols counted as a terminal shows them; control characters, which a name from a
/// foreign file may hold, are shown escaped.
class Table {
 public:
  /// Without headings there is no first line, and there are as many columns as in the longest row.
  explicit Table(std::vector<std::string> headings = {});
  /// Missing cells at the end are empty.
  void add(std::vector<std::string> cells);
  /// A paragraph below the last row, indented.
  void add_remark(std::string text);
  /// Columns of these headings are left out if no cell has a value, and, the first of them first, until a row fits on
  /// the terminal.
  void may_leave_out(std::vector<std::string> headings) { optional_ = std::move(headings); }
  /// Each line ends with a newline and has no spaces at its end. Wider than `limit` columns (0: none), headings and
  /// cells are broken at spaces, commas and slashes, words of more than 20 columns anywhere, the widest column first;
  /// figures of up to 15 columns stay whole.
  std::string text(std::size_t limit = 0) const;
  /// As Markdown, numbers aligned to the right; a bar within a cell is escaped. Remarks are left out.
  std::string markdown() const;

  struct Column;  ///< as text() lays it out

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string remark = {};
  };
  std::vector<Column> columns() const;

  std::vector<std::string> headings_, optional_;
  std::vector<Row> rows_;
};

}  // namespace chargpt
