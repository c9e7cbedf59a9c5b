// Paragraphs on a narrow terminal, and a line of parts: which of them give way, and in what order.
#include "report/terminal.h"

#include "test.h"

using namespace chargpt;

namespace {

std::string fitted_line(std::size_t columns) {
  const std::vector<LinePart> parts = {
      {{{"step 5 of 9", 1}, {"step 5/9"}}}, {{{"loss 2.5"}}}, {{{"a note", 2}, {"", 0}}}};
  return joined_parts(forms_that_fit(parts, columns));
}

}  // namespace

TEST_CASE("a paragraph breaks between words, later lines under the first") {
  CHECK(wrapped("one two three", 0, 8) == "one two\nthree\n");
  CHECK(wrapped("one two three", 2, 9) == "one two\n  three\n");
  CHECK(wrapped("one two three", 0, 0) == "one two three\n");
}

TEST_CASE("a word wider than the line stands alone") {
  CHECK(wrapped("a looooong b", 0, 4) == "a\nlooooong\nb\n");
}

TEST_CASE("a list wider than the line is broken between its items") {
  CHECK(wrapped("one of [gelu|relu|silu] (relu)", 1, 11) == "one of\n [gelu|\n relu|silu]\n (relu)\n");
  CHECK(wrapped("one of [gelu|relu]", 0, 18) == "one of [gelu|relu]\n");
}

TEST_CASE("each line is a paragraph of its own, and one that fits keeps its spaces") {
  CHECK(wrapped_lines("a  table\nfour words of text\n", 10) == "a  table\nfour words\nof text\n");
}

TEST_CASE("a command is never broken, nor what stands in backticks") {
  CHECK(wrapped("go on: chargpt resume r --threads 2 goes on", 0, 20) ==
        "go on:\nchargpt resume r --threads 2\ngoes on\n");
  CHECK(wrapped("stopped; chargpt resume 'my own run' --max_iters N goes on", 0, 12) ==
        "stopped;\nchargpt resume 'my own run' --max_iters N\ngoes on\n");
  CHECK(wrapped("chargpt train default --seed=2 and then more", 0, 20) ==
        "chargpt train default --seed=2\nand then more\n");
  CHECK(wrapped("say `a b c` twice", 0, 8) == "say\n`a b c`\ntwice\n");
  CHECK(wrapped("chargpt train; then chargpt runs", 0, 18) == "chargpt train;\nthen chargpt runs\n");
}

TEST_CASE("each line of a text is broken by itself, under its own indentation") {
  CHECK(wrapped_lines("a b\n  c d e f\n", 7) == "a b\n  c d e\n  f\n");
  CHECK(wrapped_lines("a b\n\n  c  d\n", 0) == "a b\n\n  c  d\n");
}

TEST_CASE("what fits keeps its spaces, and what does not goes on under its beginning") {
  CHECK(fitted("two  spaces", 9, 20) == "two  spaces");
  CHECK(fitted("two  spaces", 9, 18) == "two\n         spaces");
  CHECK(fitted("two  spaces", 9, 0) == "two  spaces");
}

TEST_CASE("all parts stand whole where there is room") {
  CHECK(fitted_line(80) == "step 5 of 9  loss 2.5  a note");
  CHECK(fitted_line(29) == "step 5 of 9  loss 2.5  a note");
}

TEST_CASE("what is worth least gives way first, and no more than is needed") {
  CHECK(fitted_line(28) == "step 5/9  loss 2.5  a note");
  CHECK(fitted_line(25) == "step 5/9  loss 2.5");
}

TEST_CASE("a part with one form stays, even where it does not fit") {
  CHECK(fitted_line(3) == "step 5/9  loss 2.5");
}

TEST_CASE("wide symbols count as a terminal shows them") {
  const std::vector<LinePart> parts = {{{{"日本", 1}, {"x"}}}};
  CHECK(forms_that_fit(parts, 4)[0] == "日本");
  CHECK(forms_that_fit(parts, 3)[0] == "x");
}
