// Several networks as one: their probabilities averaged, in windows and in sequences.
#include "predict/ensemble.h"

#include "network/drawn_model.h"
#include "predict/counted.h"
#include "predict/generate.h"
#include "predict/mixture.h"
#include "predict/network.h"
#include "test.h"

namespace chargpt {
namespace {

struct Network : DrawnModel {
  explicit Network(std::uint64_t seed, const ModelConfig& config = small_config())
      : DrawnModel(config, test_vocab, seed) {}
  NetworkPredictor predictor{model, 1};
};

const Ids starts{0, 5, 9};

WindowBatch windows_in(const Stored& text, std::int64_t T = 8) {
  return {.tokens = view_of(text), .starts = starts, .T = T};
}

/// Probabilities of all symbols at every position: (B, T, V).
std::vector<double> probabilities_of(Predictor& predictor, const WindowBatch& windows) {
  Floats logits(static_cast<std::size_t>(windows.numel() * test_vocab));
  predictor.logits(windows, logits);
  std::vector<double> all;
  for (std::size_t row = 0; row < logits.size(); row += test_vocab)
    std::ranges::copy(softmax(std::span(logits).subspan(row, test_vocab)), std::back_inserter(all));
  return all;
}

}  // namespace

TEST_CASE("an ensemble's probabilities are the mean of its members', and their sum is one") {
  Network a(1), b(2), c(3);
  const Stored text = text_of(30, test_vocab);
  const WindowBatch windows = windows_in(text);
  Ensemble equal({&a.predictor, &b.predictor, &c.predictor});
  const auto of_a = probabilities_of(a.predictor, windows), of_b = probabilities_of(b.predictor, windows),
             of_c = probabilities_of(c.predictor, windows), of_equal = probabilities_of(equal, windows);
  CHECK(of_a != of_b);
  Floats logits(of_a.size());
  equal.logits(windows, logits);
  double sum = 0;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    CHECK(of_equal[i] == Approx((of_a[i] + of_b[i] + of_c[i]) / 3).epsilon(1e-5));
    sum += std::exp(double{logits[i]});
  }
  CHECK(sum / static_cast<double>(windows.numel()) == Approx(1).margin(1e-6));
}

TEST_CASE("losses that no double's exponential holds are averaged too") {
  const Floats of_members{2000, 2000, 1, 3000};  // two members, two targets
  Floats losses(2);
  mean_of_losses(of_members, losses);
  CHECK(losses[0] == Approx(1 + std::log(2)));
  CHECK(losses[1] == Approx(2000 + std::log(2)));
  mean_of_losses({}, {});  // divides nothing by 0
}

TEST_CASE("a sequence that grows has the mean of what each member says of it, rows dropped or not") {
  Network a(1), b(2);
  Ensemble ensemble({&a.predictor, &b.predictor});
  const auto check = [&](Predictor::Rows rows, Predictor::Rows of_a, Predictor::Rows of_b, std::int64_t count) {
    for (std::int64_t row = 0; row < count; ++row) {
      const auto p = [row](Predictor::Rows all) {
        return softmax({all.first + row * all.stride, static_cast<std::size_t>(test_vocab)});
      };
      const std::vector<double> mean = p(rows), a_says = p(of_a), b_says = p(of_b);
      for (std::size_t v = 0; v < mean.size(); ++v) CHECK(mean[v] == Approx((a_says[v] + b_says[v]) / 2).margin(1e-6));
    }
  };
  Network alone_a(1), alone_b(2);
  const Ids prompt{3, 1, 4, 1};
  check(ensemble.start(prompt, 3), alone_a.predictor.start(prompt, 3), alone_b.predictor.start(prompt, 3), 3);
  const Ids first{0, 1, 2}, kept{0, 2}, ids{5, 6, 7};
  check(ensemble.advance(first, ids), alone_a.predictor.advance(first, ids), alone_b.predictor.advance(first, ids), 3);
  for (int i = 0; i < 12; ++i)  // beyond the window
    check(ensemble.advance(i == 0 ? kept : Ids{0, 1}, Ids{5, 6}),
          alone_a.predictor.advance(i == 0 ? kept : Ids{0, 1}, Ids{5, 6}),
          alone_b.predictor.advance(i == 0 ? kept : Ids{0, 1}, Ids{5, 6}), 2);
}

TEST_CASE("networks of several windows score in the shortest, and each writes with its own") {
  ModelConfig longer = small_config();
  longer.block_size = 12;
  Network a(1), b(2, longer);
  Ensemble ensemble({&b.predictor, &a.predictor});
  CHECK(ensemble.block_size() == a.model.block_size());
  CHECK(ensemble.at_once() == std::min(a.predictor.at_once(), b.predictor.at_once()) / 2);
  const Ids prompt{1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4};
  const Predictor::Rows rows = ensemble.start(prompt, 1);
  const Floats before(rows.first, rows.first + test_vocab);
  Ids other = prompt;
  other[0] = 2;  // which only the longer window reaches
  const Predictor::Rows changed = ensemble.start(other, 1);
  CHECK(before != Floats(changed.first, changed.first + test_vocab));
}

}  // namespace chargpt
