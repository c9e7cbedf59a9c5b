#include "base/quote.h"

#include "test.h"

namespace chargpt {
namespace {

TEST_CASE("text that can be shown is shown as it is") {
  CHECK(printable("learning_rate") == "learning_rate");
  CHECK(printable("Größe 语 😀") == "Größe 语 😀");
  CHECK(printable("") == "");
}

TEST_CASE("line ends, control characters and broken UTF-8 are spelled out") {
  CHECK(printable("a\nb\r\tc") == "a\\nb\\r\\tc");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\x1B[31m") == "\\x1B[31m");
  CHECK(printable("\xC3") == "\\xC3");
  CHECK(printable("\xED\xA0\x80") == "\\xED\\xA0\\x80");  // a surrogate
  CHECK(printable("\xC0\xAF") == "\\xC0\\xAF");           // overlong
  CHECK(printable("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");
  CHECK(printable("\xC2\x85 \xE2\x80\xA8") == "\\xC2\\x85 \\xE2\\x80\\xA8");
}

TEST_CASE("marks of direction, which disguise the order of a line, are spelled out") {
  CHECK(printable("a\u202Egpj.exe") == "a\\xE2\\x80\\xAEgpj.exe");
  for (const std::string symbol : {"\u061C", "\u200E", "\u200F", "\u2028", "\u202A", "\u202E", "\u2066", "\u2069"})
    CHECK(printable(symbol) != symbol);
  for (const std::string symbol : {"\u061B", "\u200D", "\u2010", "\u2027", "\u202F", "\u2065", "\u206A", "\u00A0"})
    CHECK(printable(symbol) == symbol);
}

TEST_CASE("long text is cut between symbols") {
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("éé", 3) == "é...");
  CHECK(printable("abc", 3) == "abc");
}

TEST_CASE("a word of a command is quoted where a shell would change it") {
  CHECK(shell_quoted("runs/default-1") == "runs/default-1");
  CHECK(shell_quoted("Größe.json") == "Größe.json");
  CHECK(shell_quoted("-x") == "./-x");
  CHECK(shell_quoted("-x y") == "'./-x y'");
  CHECK(shell_quoted("-") == "-");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("a; touch PWNED") == "'a; touch PWNED'");
  CHECK(shell_quoted("my run") == "'my run'");
  CHECK(shell_quoted("it's") == R"('it'\''s')");
  for (const std::string symbol : {"$", "`", "*", "?", "[", "(", "&", "|", "<", ">", "#", "~", "!", "\"", "\\", "{"})
    CHECK(shell_quoted(symbol) == "'" + symbol + "'");
  CHECK(shell_quoted("a\nb'\\\xFF") == R"($'a\nb\'\\\xFF')");
}

}  // namespace
}  // namespace chargpt
