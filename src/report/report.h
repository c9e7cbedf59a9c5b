// A result, described once: the document that --json prints and, beside it, what people read. A command makes one, and
// print_report() (cli/output.h) alone decides in which form it appears.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/table.h"

namespace chargpt {

using Json = nlohmann::ordered_json;

/// What a table shows of a row of JSON.
using Cell = std::function<std::string(const Json& row)>;

// Cells of the value at `place`, a JSON pointer without the first slash: "versus_best/difference". They are `missing`
// where the value is null, not there, or a number that is not finite.

/// In the form that `shown` gives a value: cell("seconds", format_duration).
Cell cell(std::string place, std::function<std::string(const Json& value)> shown);
/// Texts as they are, whole numbers with commas, others with the digits that they need.
Cell as_is(std::string place);
/// `digits` after the point.
Cell fixed(std::string place, int digits);
/// A part of 1 as "12.3 %".
Cell percent(std::string place, int digits = 1);

struct Column {
  std::string heading;
  Cell cell;
};

/// One row of the table for each of `rows`, an array; below each row its `remark`, if that is given.
Table table_of(const Json& rows, const std::vector<Column>& columns, const Cell& remark = {});

class Report {
 public:
  /// Sentences: on a terminal each line is broken between words.
  struct Lines {
    std::string text;
  };
  /// A drawing, or a text: as it is.
  struct Plain {
    std::string text;
  };
  /// Coloured text, whose foreign characters are escaped already.
  struct Painted {
    std::string text;
  };
  using Part = std::variant<Table, Lines, Plain, Painted>;

  explicit Report(Json json = {}) : json(std::move(json)) {}
  void add(Table table) { parts_.emplace_back(std::move(table)); }
  void say(std::string text) { parts_.emplace_back(Lines{std::move(text)}); }
  void draw(std::string text) { parts_.emplace_back(Plain{std::move(text)}); }
  void paint(std::string text) { parts_.emplace_back(Painted{std::move(text)}); }
  /// A line on stderr with --verbose.
  void explain(std::string line) { explanations_.push_back(std::move(line)); }
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<std::string>& explanations() const { return explanations_; }

  Json json;
  int indent = 2;      ///< of the document; -1: on one line, for long lists of numbers
  bool is_yes = true;  ///< false: the answer is no, and the exit code 1

 private:
  std::vector<Part> parts_;
  std::vector<std::string> explanations_;
};

/// Tables and lines no wider than `columns` (0: any width), or tables as Markdown.
std::string part_text(const Report::Part& part, std::size_t columns, bool markdown = false);

}  // namespace chargpt
