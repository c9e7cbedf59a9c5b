#include "report/table.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/quote.h"
#include "report/symbols.h"

namespace chargpt {
namespace {

struct Column {
  std::size_t width = 0;
  bool figures = true;  ///< every cell is a number, or empty
  bool used = false;
};

/// Begins like a number: "-1.5", "45.2k", "99 %", "±0.01"; an empty cell and a lone "-" stand for a missing one.
bool is_figure(const std::string& cell) {
  if (cell.empty() || cell == "-" || cell == "nan" || cell == "inf" || cell == "-inf") return true;
  std::size_t i = cell.find_first_not_of("+-<>~");
  if (i == std::string::npos) return false;
  if (cell.compare(i, 2, "±") == 0) i += 2;
  return i < cell.size() && std::isdigit(static_cast<unsigned char>(cell[i])) != 0;
}

std::string line(const std::vector<std::string>& cells, const std::vector<Column>& columns) {
  std::string out;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = i < cells.size() ? cells[i] : std::string();
    const std::string gap(columns[i].width - display_width(cell), ' ');
    if (i > 0) out += "  ";
    out += columns[i].figures ? gap + cell : cell + gap;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

}  // namespace

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell, std::string::npos);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::size_t count = headings_.size();
  for (const auto& row : rows_) count = std::max(count, row.size());
  std::vector<Column> columns(count);
  for (std::size_t i = 0; i < headings_.size(); ++i) columns[i].width = display_width(headings_[i]);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      columns[i].width = std::max(columns[i].width, display_width(row[i]));
      columns[i].figures = columns[i].figures && is_figure(row[i]);
      columns[i].used = columns[i].used || !row[i].empty();
    }
  }
  for (Column& column : columns) column.figures = column.figures && column.used;
  std::string out = headings_.empty() ? "" : line(headings_, columns);
  for (const auto& row : rows_) out += line(row, columns);
  return out;
}

}  // namespace chargpt
