// Which contexts are found again. What is remembered of the bits that came in one: predict_golden_test.cpp.
#include "predict/context_table.h"

#include "test.h"

namespace chargpt {
namespace {

std::uint64_t key_of(std::uint64_t number) {
  return mixed_bits(number + 1);
}

}  // namespace

TEST_CASE("a full group gives up what was seen least") {
  ContextTable table(1);  // one group: ten places
  for (const std::uint8_t bits : {9, 4, 7, 3, 8, 12, 15, 10, 14, 20})
    table[table.find_or_add(key_of(bits))].bits = bits;
  const std::int64_t place = table.find_or_add(key_of(100));
  CHECK(table[place].bits == 0);
  CHECK(table.find(key_of(3)) == -1);
  table.find_or_add(key_of(101));  // the newcomer was seen least, and goes first
  CHECK(table.find(key_of(100)) == -1);
  for (const std::uint64_t kept : {9, 4, 7, 8, 12, 15, 10, 14, 20, 101}) CHECK(table.find(key_of(kept)) >= 0);
}

TEST_CASE("a context that was not seen is taken for another one about once in 6,000 times, in a full table") {
  ContextTable table(20'000);
  for (std::uint64_t i = 0; i < 100'000; ++i) table[table.find_or_add(key_of(i))].bits = 1;
  std::int64_t wrong = 0;
  for (std::uint64_t i = 0; i < 600'000; ++i) wrong += table.find(key_of(1'000'000 + i)) >= 0;
  CHECK(wrong > 50);
  CHECK(wrong < 150);
}

}  // namespace chargpt
