// The rate that a network adapts at: tried on the end of the text that it was trained on.
#include "evaluate/adaptation_choice.h"

#include "evaluate/split_loss.h"
#include "network/drawn_model.h"
#include "token_text.h"

namespace chargpt {
namespace {

std::vector<std::uint8_t> text_of(std::size_t length) {
  std::vector<std::uint8_t> ids;
  for (std::size_t i = 0; i < length; ++i) ids.push_back(static_cast<std::uint8_t>(i * i % test_vocab));
  return ids;
}

TEST_CASE_METHOD(DrawnModel, "each rate is tried at half on the train split's last twentieth, alike by any threads") {
  const std::vector<std::uint8_t> text = text_of(24'000);
  double most = 0;  // of the work, as the heartbeat is told
  const AdaptationChoice choice = choose_adaptation(model, view_of(text), 1),
                         by_three = choose_adaptation(model, view_of(text), 3,
                                                      [&](double part) { most = std::max(most, part); });
  CHECK(most > 0.9);
  CHECK(most <= 1);
  CHECK(choice.tokens == 1200);
  REQUIRE(choice.trials.size() == 4);
  double best = 100;
  for (std::size_t i = 0; i < 4; ++i) {
    const AdaptationTrial& trial = choice.trials[i];
    AdaptiveNetwork network(model, 1, {.rate = trial.rate / 2, .decay = choice.adaptation.decay});
    CHECK(trial.loss == adaptive_loss(network, view_of(text).slice(22'800, 1200), model.block_size()).mean);
    CHECK(trial.loss == by_three.trials[i].loss);
    best = std::min(best, trial.loss);
  }
  CHECK(choice.adaptation.rate == choice.trials.back().rate);  // untrained, it has everything to learn
  CHECK(choice.trials.back().loss == best);
  CHECK(by_three.adaptation.rate == choice.adaptation.rate);
}

TEST_CASE_METHOD(DrawnModel, "of a text too short nothing is tried") {
  const std::vector<std::uint8_t> text = text_of(19'999);
  const AdaptationChoice choice = choose_adaptation(model, view_of(text), 2);
  CHECK(choice.tokens == 0);
  CHECK(choice.trials.empty());
  CHECK(choice.adaptation.rate == 2e-4);
}

TEST_CASE_METHOD(DrawnModel, "what the heartbeat throws ends the trials of all threads") {
  const std::vector<std::uint8_t> text = text_of(24'000);
  CHECK_THROWS_AS(choose_adaptation(model, view_of(text), 2, [](double) { throw Interrupted{}; }), Interrupted);
}

}  // namespace
}  // namespace chargpt
