#include "predict/bit_history.h"

#include "test.h"

namespace chargpt {
namespace {

BitHistories::State after(const BitHistories& histories, const std::string& bits) {
  std::uint8_t state = 0;
  for (const char bit : bits) state = histories.next(state, bit == '1');
  return histories.states()[state];
}

}  // namespace

TEST_CASE("every state fits a byte, and what follows one is a state that the bit has reached") {
  const BitHistories histories;
  const std::vector<BitHistories::State>& states = histories.states();
  REQUIRE(states.size() <= 256);
  CHECK(states[0] == BitHistories::State{0, 0, false});
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(!(states[i] == states[j]));
    for (const bool bit : {false, true}) {
      const std::size_t next = histories.next(static_cast<std::uint8_t>(i), bit);
      REQUIRE(next < states.size());
      CHECK(states[next].last == bit);
      const std::int32_t came = bit ? states[next].ones : states[next].zeros;
      CHECK(came >= std::min(24, bit ? states[i].ones : states[i].zeros));
      CHECK(came > 0);
    }
  }
}

TEST_CASE("few bits are all remembered, and of many of one bit some are forgotten when the other comes") {
  const BitHistories histories;
  using State = BitHistories::State;
  CHECK(after(histories, "1") == State{0, 1, true});
  CHECK(after(histories, "0010") == State{3, 1, false});
  CHECK(after(histories, std::string(30, '0')) == State{24, 0, false});
  CHECK(after(histories, std::string(30, '0') + "1") == State{13, 1, true});
  CHECK(after(histories, std::string(30, '1') + "00") == State{2, 8, false});
}

}  // namespace chargpt
