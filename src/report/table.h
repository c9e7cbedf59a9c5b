// Formats rows of cells as aligned plain text or as Markdown. Independent of their meaning.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace chargpt {

/// The cell text of an absent value.
inline constexpr const char* missing = "–";

/// Columns two spaces apart below a line of headings; columns of numbers are right-aligned.
/// Cells are single lines of UTF-8, measured in terminal columns. Control characters, which a name from a foreign file
/// may contain, are escaped.
class Table {
 public:
  /// Without headings the heading line is left out, and the longest row sets the number of columns.
  explicit Table(std::vector<std::string> headings = {});
  /// Adds a row; missing cells at its end are empty.
  void add(std::vector<std::string> cells);
  /// Adds an indented paragraph below the last row.
  void add_remark(std::string text);
  /// Columns with these headings are dropped if all their cells are empty, and, in this order, until a row fits on the
  /// terminal.
  void may_leave_out(std::vector<std::string> headings) { optional_ = std::move(headings); }
  /// Plain text; each line ends with a newline, without trailing spaces. If a row is wider than `limit` columns (0: no
  /// limit), cells wrap after spaces, commas and slashes, and words above 20 columns anywhere, the widest column first.
  /// Numbers of up to 15 columns stay whole.
  std::string text(std::size_t limit = 0) const;
  /// Markdown with right-aligned numbers; `|` in a cell is escaped. Leaves out the remarks.
  std::string markdown() const;

  struct Column;  ///< layout of one column in text()

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
