#include "base/names.h"

#include "base/error.h"
#include "test.h"

namespace chargpt {

namespace {

const std::vector<std::string> known{"n_layer", "n_head", "n_embd", "learning_rate", "min_lr"};

TEST_CASE("the nearest name is one edit away, or a third of the length") {
  CHECK(nearest_name("n_layers", known) == "n_layer");
  CHECK(nearest_name("n_haed", known) == "n_head");
  CHECK(nearest_name("learning_rte", known) == "learning_rate");
  CHECK(nearest_name("learn_rate", known) == "learning_rate");
}

TEST_CASE("case, - and _ make no difference between names") {
  CHECK(nearest_name("N-LAYER", known) == "n_layer");
  CHECK(nearest_name("min-lr", known) == "min_lr");
}

TEST_CASE("what is far from every name has no nearest one") {
  CHECK(nearest_name("momentum", known) == std::nullopt);
  CHECK(nearest_name("", known) == std::nullopt);
  CHECK(nearest_name("x", {}) == std::nullopt);
  CHECK(nearest_name(std::string(1000000, 'n'), known) == std::nullopt);
}

TEST_CASE("of several names the nearest wins, then the first") {
  const std::vector<std::string> names{"aaab", "aaac", "aaaa"};
  CHECK(nearest_name("aaaa", names) == "aaaa");
  CHECK(nearest_name("aaad", names) == "aaab");
}

TEST_CASE("a swap of neighbours counts once") {
  const std::vector<std::string> names{"ab"};
  CHECK(nearest_name("ba", names) == "ab");
}

TEST_CASE("many names are told by the first of them") {
  CHECK(some_of({}) == "");
  CHECK(some_of({"a", "b", "c"}) == "a, b, c");
  CHECK(some_of({"a", "b", "c", "d", "e"}) == "a, b, c and 2 more");
  CHECK(some_of({"a", "b", "c"}, 2) == "a, b and 1 more");
}

TEST_CASE("an error's line is made of texts, characters, numbers and printable paths") {
  const std::filesystem::path path = "a\nb";
  const Error error(ExitCode::data, path, " has ", std::size_t{3}, " of ", std::int8_t{-1}, ' ', std::string("x"),
                    " in ", 1e-3, " s; ", 2.0);
  CHECK(error.code() == ExitCode::data);
  CHECK(std::string(error.what()) == "a\\nb has 3 of -1 x in 0.001 s; 2");
}

}  // namespace
}  // namespace chargpt
