#include "report/report.h"

#include <cmath>

#include "base/quote.h"
#include "report/format.h"
#include "report/terminal.h"

namespace chargpt {

Cell cell(std::string place, std::function<std::string(const Json&)> shown) {
  return [place = "/" + std::move(place), shown = std::move(shown)](const Json& row) -> std::string {
    const Json value = value_at(row, place);
    const bool none = value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()));
    return none ? missing : shown(value);
  };
}

Cell as_is(std::string place) {
  return cell(std::move(place), [](const Json& value) {
    if (value.is_number_integer()) return format_count(value);
    return value.is_number() ? short_number(value) : value.get<std::string>();
  });
}

Cell fixed(std::string place, int digits) {
  return cell(std::move(place), [digits](const Json& value) { return format_fixed(value, digits); });
}

Table table_of(const Json& rows, const std::vector<Column>& columns, const Cell& remark) {
  std::vector<std::string> headings;
  for (const Column& column : columns) headings.push_back(column.heading);
  Table table(std::move(headings));
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const Column& column : columns) cells.push_back(column.cell(row));
    table.add(std::move(cells));
    if (remark) table.add_remark(remark(row));
  }
  return table;
}

std::string part_text(const Report::Part& part, std::size_t columns, bool markdown) {
  if (part.kind == Report::Kind::table) return markdown ? part.table.markdown() : part.table.text(columns);
  return part.kind == Report::Kind::lines ? wrapped_lines(part.text, columns) : part.text;
}

}  // namespace chargpt
