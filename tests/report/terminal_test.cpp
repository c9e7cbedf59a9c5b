// Text on a terminal: escaping, widths, colour, tables.

#include "report/terminal.h"
#include "report/table.h"
#include "test.h"

using namespace chargpt;
using namespace std::string_literals;

TEST_CASE("text passes to the terminal as it is") {
  CHECK(escape_for_terminal("two\n\tlines, ünïcode, 日本 ☺") == "two\n\tlines, ünïcode, 日本 ☺");
}

TEST_CASE("what a terminal would obey is shown instead") {
  CHECK(escape_for_terminal("a\r\nb\r\r\n") == "a\nb\\x0d\n");
  CHECK(escape_for_terminal("\x1b[2J\a\r\x7f\0end"s) == "\\x1b[2J\\x07\\x0d\\x7f\\x00end");
  CHECK(escape_for_terminal("\u0080\u009b31m") == "\\u0080\\u009b31m");          // C1: control sequence introducer
  CHECK(escape_for_terminal("\u202egpj.exe\u2066") == "\\u202egpj.exe\\u2066");  // direction overrides
}

TEST_CASE("bytes that are not UTF-8 are shown by number") {
  CHECK(escape_for_terminal("a\xff\xc3") == "a\\xff\\xc3");
  CHECK(escape_for_terminal("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(escape_for_terminal("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(escape_for_terminal("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

TEST_CASE("width counts columns, not bytes") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("ünï") == 3);
  CHECK(display_width("e\u0301") == 1);  // combining acute
  CHECK(display_width("日本") == 4);
  CHECK(display_width("😀") == 2);
  CHECK(display_width("\xff") == 1);
  // Marks of Hebrew, Arabic, Devanagari, Thai, Tamil, Bengali, Lao, Burmese, Khmer, Hangul and Syriac.
  CHECK(display_width("\u05b8\u064e\u094d\u0e49\u0bcd\u09cd\u0ec9\u1039\u17d2\u1161\u0730") == 0);
  CHECK(first_columns("日本", 1).empty());
  CHECK(first_columns("a日本", 3) == "a日");
  CHECK(first_columns("abc", 10) == "abc");
}

TEST_CASE("the flag decides about colour, then NO_COLOR, then the terminal") {
  CHECK(choose_color("always", "1", false));
  CHECK_FALSE(choose_color("never", nullptr, true));
  CHECK(choose_color("auto", nullptr, true));
  CHECK_FALSE(choose_color("auto", nullptr, false));
  CHECK_FALSE(choose_color("auto", "1", true));
  CHECK(choose_color("auto", "", true));  // no-color.org: set and not empty
}

TEST_CASE("a terminal that calls itself dumb obeys nothing") {
  CHECK(is_dumb("dumb"));
  CHECK_FALSE(is_dumb("xterm-256color"));
  CHECK_FALSE(is_dumb(nullptr));
}

TEST_CASE("a table aligns words to the left and figures to the right") {
  Table table({"preset", "parameters", "note"});
  table.add({"default", "1,234,567", "fast"});
  table.add({"ladder/日本", "65", ""});
  CHECK(table.text() ==
        "preset       parameters  note\n"
        "default       1,234,567  fast\n"
        "ladder/日本          65\n");
}

TEST_CASE("a table too wide for its place breaks headings and words, never numbers") {
  Table table({"option", "best val loss", "where it comes from"});
  table.add({"model.bias_places", "1.4961", "attention, attention_output, mlp, norm"});
  table.add({"b", "12", "preset nanogpt-cpu"});
  CHECK(table.text() ==
        "option             best val loss  where it comes from\n"
        "model.bias_places         1.4961  attention, attention_output, mlp, norm\n"
        "b                             12  preset nanogpt-cpu\n");
  CHECK(table.text(46) ==
        "option             best val  where it comes\n"
        "                       loss  from\n"
        "model.bias_places    1.4961  attention,\n"
        "                             attention_output,\n"
        "                             mlp, norm\n"
        "b                        12  preset\n"
        "                             nanogpt-cpu\n");
  Table narrow;
  narrow.add({"1.4961 ± 0.0051", "12.4961 ± 0.0051", std::string(40, 'f')});
  CHECK(narrow.text(1) ==
        "1.4961 ± 0.0051  12.4961  ffffffffffffffffffff\n"
        "                       ±  ffffffffffffffffffff\n"
        "                  0.0051\n");
}

TEST_CASE("columns that may be left out are where they are empty or leave a row no room") {
  Table table({"run", "type", "note", "loss"});
  table.may_leave_out({"type", "note"});
  table.add({"a", "gpt", "", "1.5"});
  CHECK(table.text() == "run  type  loss\na    gpt    1.5\n");
  CHECK(table.text(15) == table.text());
  CHECK(table.text(14) == "run  loss\na     1.5\n");
  CHECK(table.markdown() == "| run | type | loss |\n| --- | --- | ---: |\n| a | gpt | 1.5 |\n");
  table.add_remark("what the run is for");
  CHECK(table.text(14) == "run  loss\na     1.5\n    what the\n    run is for\n");
}

TEST_CASE("in Markdown a bar within a cell does not end it") {
  Table table({"a|b", "loss"});
  table.add({"x|y|", "1.5"});
  CHECK(table.markdown() == "| a\\|b | loss |\n| --- | ---: |\n| x\\|y\\| | 1.5 |\n");
}

TEST_CASE("a column without an entry is not one of numbers") {
  Table table({"loss", "note"});
  table.add({"1.5", ""});
  CHECK(table.markdown() == "| loss | note |\n| ---: | --- |\n| 1.5 |  |\n");
}

TEST_CASE("a table without headings or rows is allowed") {
  CHECK(Table().text().empty());
  CHECK(Table({"a", "b"}).text() == "a  b\n");
  Table table;
  table.add({"x"});
  table.add({"long", "y", "-1.5"});
  CHECK(table.text() == "x\nlong  y  -1.5\n");
}
