#include "report/table.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/quote.h"
#include "report/terminal.h"

namespace chargpt {

struct Table::Column {
  std::size_t width = 0, least = 0;
  bool figures = true;  ///< every cell is a number, or empty
  bool used = false;
  bool shown = true;
};

namespace {

constexpr std::size_t widest_word = 20;  ///< longer words may be cut

constexpr std::size_t widest_figure = 15;  ///< "1.4961 ± 0.0051", "1 min 50 s"; longer cells wrap between words

/// Whether a cell starts like a number ("-1.5", "45.2k", "99 %", "±0.01", "≈1.49") or has no value.
bool is_figure(const std::string& cell) {
  if (cell.empty() || cell == missing || cell == "nan" || cell == "inf" || cell == "-inf") return true;
  const std::size_t i = cell.find_first_not_of("+-<>~±≈");
  return i < cell.size() && std::isdigit(static_cast<unsigned char>(cell[i])) != 0;
}

constexpr std::string_view ends_of_words = " ,/";  ///< a cell may wrap after these

std::size_t longest_word(const std::string& cell) {
  std::size_t longest = 0;
  for (const std::string& word : cut_after(cell, ends_of_words))
    longest = std::max(longest, display_width(without_end_spaces(word)));
  return longest;
}

/// Wraps the cell into lines of at most `width` columns; cuts longer words.
std::vector<std::string> lines_of(const std::string& cell, std::size_t width) {
  if (display_width(cell) <= width) return {cell};
  std::vector<std::string> lines(1);
  for (std::string word : cut_after(cell, ends_of_words)) {
    if (display_width(lines.back()) + display_width(without_end_spaces(word)) > width && !lines.back().empty())
      lines.emplace_back();
    while (display_width(without_end_spaces(word)) > width) {
      const std::string fits(first_columns(word, width));
      if (fits.empty()) break;  // a symbol of two columns does not fit into one
      lines.back() += fits;
      word.erase(0, fits.size());
      lines.emplace_back();
    }
    lines.back() += word;
  }
  for (std::string& line : lines) line = without_end_spaces(std::move(line));
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string line(const std::vector<std::string>& cells, const std::vector<Table::Column>& columns) {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t height = 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    wrapped.push_back(lines_of(i < cells.size() ? cells[i] : std::string(), columns[i].width));
    if (columns[i].shown) height = std::max(height, wrapped.back().size());
  }
  std::string out;
  for (std::size_t row = 0; row < height; ++row) {
    std::string whole;
    const char* gap = "";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].shown) continue;
      const std::string cell = row < wrapped[i].size() ? wrapped[i][row] : std::string();
      const std::size_t width = display_width(cell);
      const std::string fill(columns[i].width - std::min(width, columns[i].width), ' ');
      whole += std::exchange(gap, "  ") + (columns[i].figures ? fill + cell : cell + fill);
    }
    out += without_end_spaces(std::move(whole)) + "\n";
  }
  return out;
}

std::string markdown_line(const std::vector<std::string>& cells, const std::vector<Table::Column>& columns) {
  std::string line = "|";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].shown) continue;
    std::string cell = i < cells.size() ? cells[i] : std::string();
    for (std::size_t bar = cell.find('|'); bar != std::string::npos; bar = cell.find('|', bar + 2))
      cell.insert(bar, 1, '\\');
    line += " " + cell + " |";
  }
  return line + "\n";
}

std::size_t whole_width(const std::vector<Table::Column>& columns) {
  std::size_t width = 0;
  for (const Table::Column& column : columns)
    if (column.shown) width += (width > 0 ? 2 : 0) + column.width;
  return width;
}

/// Narrows the widest column that is above its minimum, until all columns fit or none is.
void shrink(std::vector<Table::Column>& columns, std::size_t limit) {
  const auto width_to_give = [](const Table::Column& column) {
    return column.shown && column.width > column.least ? column.width : 0;
  };
  while (whole_width(columns) > limit) {
    const auto widest = std::ranges::max_element(columns, {}, width_to_give);
    if (width_to_give(*widest) == 0) return;
    --widest->width;
  }
}

}  // namespace

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell, std::string::npos);
  rows_.push_back({std::move(cells)});
}

void Table::add_remark(std::string text) {
  rows_.back().remark = std::move(text);
}

std::vector<Table::Column> Table::columns() const {
  std::size_t count = headings_.size();
  for (const Row& row : rows_) count = std::max(count, row.cells.size());
  std::vector<Column> columns(count);
  const auto measure = [&](std::size_t i, const std::string& cell, bool figure) {
    columns[i].width = std::max(columns[i].width, display_width(cell));
    columns[i].least =
        std::max(columns[i].least, figure ? display_width(cell) : std::min(longest_word(cell), widest_word));
  };
  for (std::size_t i = 0; i < headings_.size(); ++i) measure(i, headings_[i], false);
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string& cell = row.cells[i];
      measure(i, cell, is_figure(cell) && display_width(cell) <= widest_figure);
      columns[i].figures = columns[i].figures && is_figure(cell);
      columns[i].used = columns[i].used || !(cell.empty() || cell == missing);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    columns[i].figures = columns[i].figures && columns[i].used;
    columns[i].shown = columns[i].used || i >= headings_.size() || std::ranges::count(optional_, headings_[i]) == 0;
  }
  return columns;
}

std::string Table::text(std::size_t limit) const {
  std::vector<Column> columns = this->columns();
  for (const std::string& heading : optional_)
    if (limit > 0 && whole_width(columns) > limit)
      columns[static_cast<std::size_t>(std::ranges::find(headings_, heading) - headings_.begin())].shown = false;
  if (limit > 0) shrink(columns, limit);
  constexpr std::size_t indent = 4;
  std::string out = headings_.empty() ? "" : line(headings_, columns);
  for (const Row& row : rows_) {
    out += line(row.cells, columns);
    if (!row.remark.empty()) out += std::string(indent, ' ') + wrapped(row.remark, indent, limit);
  }
  return out;
}

std::string Table::markdown() const {
  const std::vector<Column> columns = this->columns();
  std::string out = markdown_line(headings_, columns) + "|";
  for (const Column& column : columns)
    if (column.shown) out += column.figures ? " ---: |" : " --- |";
  out += "\n";
  for (const Row& row : rows_) out += markdown_line(row.cells, columns);
  return out;
}

}  // namespace chargpt
