#include "predict/mixer.h"

#include "test.h"

namespace chargpt {
namespace {

constexpr std::array<std::int64_t, Mixer::sets> sizes{3, 4, 2, 2, 2};
constexpr Mixer::Chosen chosen{2, 3, 0, 1, 1}, others{1, 0, 1, 0, 0};
const std::vector<double> first{0.3, -0.2, 0.5, 0.1, 0.25}, inputs{1.5, -0.7, 0, 2.5, -1.1};

/// The weight of one input in the vector that each set gives.
std::array<double, Mixer::sets> weight(const Mixer& mixer, std::size_t input) {
  std::vector<double> unit(first.size());
  unit[input] = 1;
  return mixer.mix(unit, chosen).logits;
}

double loss_of(double logit, bool bit) {
  return -std::log(squash(bit ? logit : -logit));
}

}  // namespace

TEST_CASE("at first every set gives w · x, and so does their average") {
  const Mixer mixer(sizes, first, {0.01, 0.01});
  const double expected = 0.3 * 1.5 + 0.2 * 0.7 + 0.1 * 2.5 - 0.25 * 1.1;
  const Mixer::Mixed mixed = mixer.mix(inputs, chosen);
  for (const double logit : mixed.logits) CHECK(logit == Approx(expected));
  CHECK(mixed.logit == Approx(expected));
  CHECK(mixer.mix(std::vector<double>(5, 1e9), chosen).logit == 15);
}

TEST_CASE("each weight learns by the gradient of the loss of its own set") {
  constexpr double rate = 0.02, small = 1e-5;
  for (const bool bit : {false, true}) {
    Mixer mixer(sizes, first, {rate, 0});
    mixer.learn(inputs, chosen, mixer.mix(inputs, chosen), bit);
    for (std::size_t i = 0; i < first.size(); ++i) {
      const auto loss_with = [&](double change) {
        std::vector<double> weights = first;
        weights[i] += change;
        return loss_of(Mixer(sizes, weights, {}).mix(inputs, chosen).logits[0], bit);
      };
      const double gradient = (loss_with(small) - loss_with(-small)) / (2 * small);
      for (const double learned : weight(mixer, i)) CHECK(learned - first[i] == Approx(-rate * gradient).margin(1e-10));
    }
    CHECK(mixer.mix(inputs, others).logit == Mixer(sizes, first, {}).mix(inputs, others).logit);
  }
}

TEST_CASE("the averages learn by the gradient of the loss of the whole") {
  constexpr double rate = 0.02, small = 1e-5;
  Mixer mixer(sizes, first, {0, rate});
  const Mixer::Mixed before = mixer.mix(inputs, chosen);
  // All logits are alike here, so that each average has the same gradient; and their sum is the logit over one's own.
  const auto loss_with = [&](double change) { return loss_of((0.2 + change + 0.8) * before.logits[0], true); };
  const double gradient = (loss_with(small) - loss_with(-small)) / (2 * small);
  mixer.learn(inputs, chosen, before, true);
  const Mixer::Mixed after = mixer.mix(inputs, chosen);
  CHECK(after.logits == before.logits);
  CHECK(after.logit / after.logits[0] - 1 == Approx(-rate * gradient * Mixer::sets));
  CHECK(mixer.mix(inputs, others).logit == Approx(before.logit));  // another decision has its own
}

TEST_CASE("a mixer that begins anew is as new") {
  Mixer mixer(sizes, std::vector<double>(5, 1.0), {0.1, 0.1});
  for (int i = 0; i < 10; ++i) mixer.learn(inputs, chosen, mixer.mix(inputs, chosen), true);
  mixer.begin_anew(first);
  const Mixer fresh(sizes, first, {0.1, 0.1});
  CHECK(mixer.mix(inputs, chosen).logits == fresh.mix(inputs, chosen).logits);
  CHECK(mixer.mix(inputs, chosen).logit == fresh.mix(inputs, chosen).logit);
}

TEST_CASE("it learns which input is right in which context") {
  Mixer mixer(sizes, std::vector<double>(2, 0.2), {0.02, 0.002});
  for (int i = 0; i < 4000; ++i) {
    const bool bit = i % 3 == 0, first_is_right = i % 2 == 0;
    const std::vector<double> both{bit == first_is_right ? 2.0 : -2.0, bit == first_is_right ? -2.0 : 2.0};
    const Mixer::Chosen contexts{0, first_is_right ? 0 : 1, 0, 0, 0};
    const Mixer::Mixed mixed = mixer.mix(both, contexts);
    if (i > 3900) CHECK(loss_of(mixed.logit, bit) < 0.1);
    mixer.learn(both, contexts, mixed, bit);
  }
}

TEST_CASE("a probability map begins as it is, and moves towards what comes, in one context") {
  ProbabilityMap map(3);
  for (const double logit : {-8.0, -2.5, 0.0, 0.5, 8.0}) CHECK(map.at(map.point(1, logit)) == Approx(squash(logit)));
  CHECK(map.at(map.point(2, 0.25)) == Approx((squash(0) + squash(0.5)) / 2));
  CHECK(map.at(map.point(2, 30)) == Approx(squash(8)));
  CHECK(map.at(map.point(2, -30)) == Approx(squash(-8)));
  for (int i = 0; i < 2000; ++i) map.learn(map.point(1, 0.7), i % 4 == 0);
  CHECK(map.at(map.point(1, 0.7)) == Approx(0.25).margin(0.05));
  CHECK(map.at(map.point(1, -0.5)) == Approx(squash(-0.5)));
  CHECK(map.at(map.point(0, 0.5)) == Approx(squash(0.5)));
}

}  // namespace chargpt
