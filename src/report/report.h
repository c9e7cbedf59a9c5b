// The result of a command in two forms: the document for --json, and tables and text for people. print_report()
// (cli/output.cpp) chooses the form.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/format.h"
#include "report/table.h"

namespace chargpt {

/// Makes the text of one table cell from a row of JSON.
using Cell = std::function<std::string(const Json& row)>;

// Cells of the value at `place`, a JSON pointer without the first slash: "versus_best/difference". A cell is `missing`
// if the value is null, absent or not finite.

/// Formats the value with `shown`: cell("seconds", format_duration).
Cell cell(std::string place, std::function<std::string(const Json& value)> shown);
/// Shows texts unchanged, integers with commas, other numbers with as many digits as needed.
Cell as_is(std::string place);
/// Shows a number with `digits` digits after the point.
Cell fixed(std::string place, int digits);

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

struct Column {
  std::string heading;
  Cell cell;
};

/// Makes one table row per element of the array `rows`, followed by its `remark`, if given.
Table table_of(const Json& rows, const std::vector<Column>& columns, const Cell& remark = {});

class Report {
 public:
  enum class Kind {
    table,
    lines,    ///< sentences: on a terminal each line wraps between words
    plain,    ///< a drawing or a text, printed unchanged
    painted,  ///< coloured text whose control characters are already escaped
  };
  struct Part {
    Kind kind;
    std::string text;
    Table table = Table();
  };

  explicit Report(Json json = {}) : json(std::move(json)) {}
  void add(Table table) { parts_.push_back({Kind::table, "", std::move(table)}); }
  void say(std::string text) { parts_.push_back({Kind::lines, std::move(text)}); }
  void draw(std::string text) { parts_.push_back({Kind::plain, std::move(text)}); }
  void paint(std::string text) { parts_.push_back({Kind::painted, std::move(text)}); }
  const std::vector<Part>& parts() const { return parts_; }

  Json json;
  int indent = 2;      ///< of the document; -1: on one line, for long lists of numbers
  bool is_yes = true;  ///< false: the answer is no and the exit code is 1

 private:
  std::vector<Part> parts_;
};

/// Renders a part, no wider than `columns` (0: any width). `markdown`: tables as Markdown.
std::string part_text(const Report::Part& part, std::size_t columns, bool markdown = false);

}  // namespace chargpt
