// Paragraphs on a narrow terminal.
#include "report/terminal.h"

#include "test.h"

using namespace chargpt;

TEST_CASE("a paragraph breaks between words, later lines under the first") {
  CHECK(wrapped("one two three", 0, 8) == "one two\nthree");
  CHECK(wrapped("one two three", 2, 9) == "one two\n  three");
  CHECK(wrapped("one  two three", 9, 0) == "one  two three");
}

TEST_CASE("a word wider than the line has a line of its own, a list is broken between its items") {
  CHECK(wrapped("a looooong b", 0, 4) == "a\nlooooong\nb");
  CHECK(wrapped("one of [gelu|relu|silu] (relu)", 1, 11) == "one of\n [gelu|\n relu|silu]\n (relu)");
  CHECK(wrapped("of [gelu|relu]", 0, 11) == "of\n[gelu|relu]");
}

TEST_CASE("a command is never broken, nor what stands in backticks") {
  CHECK(wrapped("go on: chargpt resume r --threads 2 goes on", 0, 20) ==
        "go on:\nchargpt resume r --threads 2\ngoes on");
  CHECK(wrapped("stopped; chargpt resume 'my own run' --max_iters N goes on", 0, 12) ==
        "stopped;\nchargpt resume 'my own run' --max_iters N\ngoes on");
  CHECK(wrapped("chargpt train default --seed=2 and then more", 0, 20) ==
        "chargpt train default --seed=2\nand then more");
  CHECK(wrapped("chargpt.gguf `a b c` twice", 0, 12) == "chargpt.gguf\n`a b c`\ntwice");
  CHECK(wrapped("chargpt train; then chargpt eval r gives", 0, 18) == "chargpt train;\nthen\nchargpt eval r\ngives");
}

TEST_CASE("each line of a text is broken by itself, under its own indentation") {
  CHECK(wrapped_lines("a  b\n  c d e f\n", 7) == "a  b\n  c d e\n  f\n");
  CHECK(wrapped_lines("a b\n\n  c  d\n", 0) == "a b\n\n  c  d\n");
}

TEST_CASE("what fits keeps its spaces, and what does not goes on under its beginning") {
  CHECK(wrapped("two  spaces", 9, 20) == "two  spaces");
  CHECK(wrapped("two  spaces", 9, 18) == "two\n         spaces");
}
