// Paragraphs on a narrow terminal.
#include "report/wrap.h"

#include "test.h"

using namespace chargpt;

TEST_CASE("a paragraph breaks between words, later lines under the first") {
  CHECK(wrapped("one two three", 0, 8) == "one two\nthree\n");
  CHECK(wrapped("one two three", 2, 9) == "one two\n  three\n");
  CHECK(wrapped("one two three", 0, 0) == "one two three\n");
}

TEST_CASE("a word wider than the line stands alone") {
  CHECK(wrapped("a looooong b", 0, 4) == "a\nlooooong\nb\n");
}

TEST_CASE("each line is a paragraph of its own, and one that fits keeps its spaces") {
  CHECK(wrapped_lines("a  table\nfour words of text\n", 10) == "a  table\nfour words\nof text\n");
}
