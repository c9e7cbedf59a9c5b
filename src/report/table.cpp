#include "report/table.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include "base/quote.h"
#include "report/terminal.h"

namespace chargpt {

struct Table::Column {
  std::vector<std::string> cells;  ///< the heading, then one of each row
  bool figures = false;            ///< every entry is a number or empty, and not all are empty
  std::size_t width = 0, least = 0;

  std::span<const std::string> entries() const { return std::span(cells).subspan(1); }
};

namespace {

constexpr std::size_t widest_word = 20;  ///< longer words may be cut

constexpr std::size_t widest_figure = 15;  ///< "1.4961 ± 0.0051", "1 min 50 s"; longer cells wrap between words

bool is_absent(const std::string& cell) {
  return cell.empty() || cell == missing;
}

/// Whether a cell starts like a number ("-1.5", "45.2k", "99 %", "±0.01", "≈1.49") or has no value.
bool is_figure(const std::string& cell) {
  if (is_absent(cell) || cell == "nan" || cell == "inf" || cell == "-inf") return true;
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

std::string line(const std::vector<Table::Column>& columns, std::size_t row) {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t height = 1;
  for (const Table::Column& column : columns) {
    wrapped.push_back(lines_of(column.cells[row], column.width));
    height = std::max(height, wrapped.back().size());
  }
  std::string out;
  for (std::size_t part = 0; part < height; ++part) {
    std::string whole;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string cell = part < wrapped[i].size() ? wrapped[i][part] : std::string();
      const std::string fill(columns[i].width - std::min(display_width(cell), columns[i].width), ' ');
      whole += (i > 0 ? "  " : "") + (columns[i].figures ? fill + cell : cell + fill);
    }
    out += without_end_spaces(std::move(whole)) + "\n";
  }
  return out;
}

std::string markdown_line(const std::vector<Table::Column>& columns, std::size_t row) {
  std::string line = "|";
  for (const Table::Column& column : columns) {
    std::string cell = column.cells[row];
    for (std::size_t bar = cell.find('|'); bar != std::string::npos; bar = cell.find('|', bar + 2))
      cell.insert(bar, 1, '\\');
    line += " " + cell + " |";
  }
  return line + "\n";
}

std::size_t whole_width(const std::vector<Table::Column>& columns) {
  std::size_t width = 0;
  for (const Table::Column& column : columns) width += (width > 0 ? 2 : 0) + column.width;
  return width;
}

/// Narrows the widest column that is above its minimum, until all columns fit or none is.
void shrink(std::vector<Table::Column>& columns, std::size_t limit) {
  const auto width_to_give = [](const Table::Column& column) { return column.width > column.least ? column.width : 0; };
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
  std::vector<Column> columns;
  for (std::size_t i = 0; i < count; ++i) {
    Column column{.cells = {i < headings_.size() ? headings_[i] : ""}};
    for (const Row& row : rows_) column.cells.push_back(i < row.cells.size() ? row.cells[i] : "");
    const bool used = !std::ranges::all_of(column.entries(), is_absent);
    if (!used && std::ranges::count(optional_, column.cells[0]) > 0) continue;
    column.figures = used && std::ranges::all_of(column.entries(), is_figure);
    for (std::size_t row = 0; row < column.cells.size(); ++row) {
      const std::string& cell = column.cells[row];
      const std::size_t width = display_width(cell);
      const bool stays_whole = row > 0 && is_figure(cell) && width <= widest_figure;
      column.width = std::max(column.width, width);
      column.least = std::max(column.least, stays_whole ? width : std::min(longest_word(cell), widest_word));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::string Table::text(std::size_t limit) const {
  std::vector<Column> columns = this->columns();
  for (const std::string& heading : optional_)
    if (limit > 0 && whole_width(columns) > limit)
      std::erase_if(columns, [&](const Column& column) { return column.cells[0] == heading; });
  if (limit > 0) shrink(columns, limit);
  constexpr std::size_t indent = 4;
  std::string out = headings_.empty() ? "" : line(columns, 0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    out += line(columns, i + 1);
    if (!rows_[i].remark.empty()) out += std::string(indent, ' ') + wrapped(rows_[i].remark, indent, limit) + "\n";
  }
  return out;
}

std::string Table::markdown() const {
  const std::vector<Column> columns = this->columns();
  std::string out = markdown_line(columns, 0) + "|";
  for (const Column& column : columns) out += column.figures ? " ---: |" : " --- |";
  out += "\n";
  for (std::size_t row = 1; row <= rows_.size(); ++row) out += markdown_line(columns, row);
  return out;
}

}  // namespace chargpt
