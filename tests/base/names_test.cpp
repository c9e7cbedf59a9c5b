#include "base/names.h"

#include "test.h"

namespace chargpt {

CHARGPT_ENUM(Fruit, apple, pear, plum);

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

TEST_CASE("an enumeration knows its spellings") {
  CHECK(enum_name(Fruit::pear) == "pear");
  CHECK(enum_value<Fruit>("plum") == Fruit::plum);
  CHECK(enum_value<Fruit>("Plum") == std::nullopt);
}

}  // namespace
}  // namespace chargpt
