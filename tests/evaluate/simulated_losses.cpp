#include "simulated_losses.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "base/random.h"

namespace chargpt {
namespace {

using Levels = std::vector<double>;
using Process = std::function<SimulatedText(Draw&, std::size_t n)>;

/// First-order autoregression of variance 1 that forgets with `characters`, moved on often enough for that.
void add_autoregression(Levels& levels, Draw& draw, double scale, double characters) {
  const auto every = static_cast<std::size_t>(std::clamp(characters / 20, 1.0, 1e9));
  const double kept = std::exp(-static_cast<double>(every) / characters), fresh = std::sqrt(1 - kept * kept);
  double state = draw.normal();
  for (std::size_t begin = 0; begin < levels.size(); begin += every) {
    const std::size_t end = std::min(begin + every, levels.size());
    for (std::size_t t = begin; t < end; ++t) levels[t] += scale * state;
    state = kept * state + fresh * draw.normal();
  }
}

/// Passages one after the other: each has length() characters, and add(t) is called for each of its characters after
/// next() has been called once. `first`: how long the passage goes on in which the text begins.
template <class Length, class Next, class Add>
void passages(std::size_t n, double first, const Length& length, const Next& next, const Add& add) {
  double end = first;
  next();
  for (std::size_t t = 0; t < n; ++t) {
    for (; static_cast<double>(t) >= end; next()) end += length();
    add(t);
  }
}

/// Passages of exponential lengths, each with a level of its own.
void add_passages(Levels& levels, Draw& draw, double scale, double mean_length) {
  double level = 0;
  const auto length = [&] { return mean_length * (1 + draw.exponential()); };
  passages(
      levels.size(), length(), length, [&] { level = scale * draw.normal(); },
      [&](std::size_t t) { levels[t] += level; });
}

Process independent() {
  return [](Draw&, std::size_t n) { return SimulatedText{.level = Levels(n)}; };
}

Process autoregression(double characters) {
  return [=](Draw& draw, std::size_t n) {
    SimulatedText text{.level = Levels(n)};
    add_autoregression(text.level, draw, 0.5, characters);
    return text;
  };
}

Process scenes(double mean_length) {
  return [=](Draw& draw, std::size_t n) {
    SimulatedText text{.level = Levels(n)};
    add_passages(text.level, draw, 0.3, mean_length);
    return text;
  };
}

/// Scenes of lengths without a variance: P(longer than x) falls as x^-1.5. The text begins within a scene, which is
/// long as often as long scenes hold more of a text.
Process heavy_scenes(double mean_length) {
  return [=](Draw& draw, std::size_t n) {
    constexpr double tail = 1.5;
    const double shortest = mean_length * (tail - 1) / tail;
    SimulatedText text{.level = Levels(n)};
    double level = 0;
    passages(
        n, shortest * draw.pareto(tail - 1) * draw.uniform(), [&] { return shortest * draw.pareto(tail); },
        [&] { level = 0.3 * draw.normal(); }, [&](std::size_t t) { text.level[t] = level; });
    return text;
  };
}

/// Long memory d: autoregressions of every time scale, four times as long each, whose variances fall so that
/// correlations fall as distance^(2d - 1). `share`: variance of that of the characters' own, 1.
Process long_memory(double d, double share, double autoregressive = 0) {
  return [=](Draw& draw, std::size_t n) {
    SimulatedText text{.level = Levels(n)};
    double total = 0;
    const double longest = 1e6 * static_cast<double>(n);
    for (double scale = 1; scale < longest; scale *= 4) total += std::pow(scale, 2 * d - 1);
    for (double scale = 1; scale < longest; scale *= 4)
      add_autoregression(text.level, draw, std::sqrt(share * std::pow(scale, 2 * d - 1) / total), scale);
    if (autoregressive > 0) add_autoregression(text.level, draw, 0.5, autoregressive);
    return text;
  };
}

/// The discrete Fourier transform of one size, a power of two (Cooley and Tukey 1965), and what does not depend on
/// random numbers of ARFIMA(0, d, 0), variance 1, around a circle of that size.
class Circle {
 public:
  /// Correlations: Hosking 1981. No eigenvalue of theirs is negative (Craigmile 2003).
  Circle(double d, std::size_t size) {
    for (std::size_t half = 1; half < size; half *= 2)
      for (std::size_t k = 0; k < half; ++k)
        roots_.push_back(std::polar(1.0, -std::numbers::pi * static_cast<double>(k) / static_cast<double>(half)));
    std::vector<std::complex<double>> correlations(size);
    double correlation = 1;
    for (std::size_t k = 0; k <= size / 2; ++k) {
      correlations[k] = correlations[(size - k) % size] = correlation;
      correlation *= (static_cast<double>(k) + d) / (static_cast<double>(k + 1) - d);
    }
    transform(correlations);
    for (const std::complex<double>& eigenvalue : correlations)
      scales_.push_back(std::sqrt(std::max(0.0, eigenvalue.real()) / static_cast<double>(size)));
  }

  /// Two independent series, as one of complex numbers (Davies and Harte 1987, "Tests for Hurst effect").
  std::vector<std::complex<double>> draw_noise(Draw& draw) const {
    std::vector<std::complex<double>> waves;
    waves.reserve(scales_.size());
    for (const double scale : scales_) {
      const double real = draw.normal(), imaginary = draw.normal();
      waves.emplace_back(scale * real, scale * imaginary);
    }
    transform(waves);
    return waves;
  }

 private:
  /// sum over t of x[t] exp(-2 pi i t k / size), in place.
  void transform(std::vector<std::complex<double>>& x) const {
    for (std::size_t i = 1, j = 0; i < x.size(); ++i) {
      std::size_t bit = x.size() >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (std::size_t half = 1; half < x.size(); half *= 2)
      for (std::size_t begin = 0; begin < x.size(); begin += 2 * half)
        for (std::size_t k = 0; k < half; ++k) {
          const std::complex<double> a = x[begin + k], b = x[begin + k + half], root = roots_[half - 1 + k];
          const std::complex<double> turned(b.real() * root.real() - b.imag() * root.imag(),
                                            b.real() * root.imag() + b.imag() * root.real());
          x[begin + k] = a + turned;
          x[begin + k + half] = a - turned;
        }
  }

  std::vector<std::complex<double>> roots_ = {};  ///< of 1, 2, 4, …, size / 2 steps, one after the other
  std::vector<double> scales_ = {};               ///< (size) roots of the eigenvalues
};

/// The circle of the sizes asked for so far.
const Circle& kept_circle(double d, std::size_t size) {
  static std::mutex mutex;
  static std::map<std::pair<double, std::size_t>, std::unique_ptr<Circle>> kept;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Circle>& circle = kept[{d, size}];
  if (!circle) circle = std::make_unique<Circle>(d, size);
  return *circle;
}

/// ARFIMA(0, d, 0), exact at every character.
Process fractional_noise(double d, double share, double autoregressive = 0) {
  return [=](Draw& draw, std::size_t n) {
    const std::vector<std::complex<double>> noise = kept_circle(d, std::bit_ceil(2 * n)).draw_noise(draw);
    SimulatedText text{.level = Levels(n)};
    for (std::size_t t = 0; t < n; ++t) text.level[t] = std::sqrt(share) * noise[t].real();
    if (autoregressive > 0) add_autoregression(text.level, draw, 0.5, autoregressive);
    return text;
  };
}

/// A fast autoregression and a slow one.
Process two_autoregressions() {
  return [](Draw& draw, std::size_t n) {
    SimulatedText text{.level = Levels(n)};
    add_autoregression(text.level, draw, 0.5, 20);
    add_autoregression(text.level, draw, 0.15, 2000);
    return text;
  };
}

/// Chapters of log-normal lengths (median 1,000, one in twenty above 7,200), each with a level and a spread of its own.
Process chapters() {
  return [](Draw& draw, std::size_t n) {
    SimulatedText text{.level = Levels(n), .spread = Levels(n)};
    double level = 0, spread = 0;
    const auto length = [&] { return 1000 * std::exp(1.2 * draw.normal()); };
    const auto next = [&] {
      level = 0.2 * draw.normal();
      spread = std::exp(0.5 * draw.normal());
    };
    passages(n, length(), length, next, [&](std::size_t t) {
      text.level[t] = level;
      text.spread[t] = spread;
    });
    return text;
  };
}

/// Two kinds of passages that take turns: 600 characters of dialogue, 900 of description, from anywhere in that round.
Process taking_turns() {
  return [](Draw& draw, std::size_t n) {
    constexpr std::size_t dialogue = 600, round = 1500;
    const auto begin = static_cast<std::size_t>(draw.uniform() * round);
    SimulatedText text{.level = Levels(n)};
    for (std::size_t t = 0; t < n; ++t) text.level[t] = (begin + t) % round < dialogue ? -0.3 : 0.2;
    return text;
  };
}

/// Documents of 4,000 characters on average, in them scenes of 400, in them lines of 40: each with a level of its own.
Process documents_scenes_lines() {
  return [](Draw& draw, std::size_t n) {
    SimulatedText text{.level = Levels(n)};
    add_passages(text.level, draw, 0.15, 4000);
    add_passages(text.level, draw, 0.2, 400);
    add_passages(text.level, draw, 0.4, 40);
    return text;
  };
}

/// One passage in twenty is of another kind and costs 1 nat more: tables among prose. Mean 0 over all.
Process rare_passages() {
  return [](Draw& draw, std::size_t n) {
    SimulatedText text{.level = Levels(n)};
    double level = 0;
    const auto length = [&] { return 300 * (1 + draw.exponential()); };
    passages(
        n, length(), length, [&] { level = draw.uniform() < 0.05 ? 0.95 : -0.05; },
        [&](std::size_t t) { text.level[t] = level; });
    return text;
  };
}

/// Mean 0, variance 3/4, P(> x) falls as x^-3: no third moment.
double heavy_tailed(Draw& draw) {
  return draw.pareto(3) - 1.5;
}

}  // namespace

Draw::Draw(std::uint64_t seed) : state_(derive_seed(seed, Purpose::bootstrap, 7)) {}

double Draw::uniform() {
  state_ += 0x9E3779B97F4A7C15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53;
}

double Draw::normal() {
  if (std::exchange(has_kept_, false)) return kept_;
  double x = 0, y = 0, square = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double scale = std::sqrt(-2 * std::log(square) / square);
  kept_ = scale * y;
  has_kept_ = true;
  return scale * x;
}

double Draw::exponential() {
  return -std::log(1 - uniform()) - 1;
}

double Draw::pareto(double tail) {
  return std::pow(1 - uniform(), -1 / tail);
}

std::vector<Kind> tuned_kinds() {
  return {{"independent", independent()},
          {"forgets in 10", autoregression(10)},
          {"forgets in 100", autoregression(100)},
          {"forgets in 1,000", autoregression(1000)},
          {"forgets in 5,000", autoregression(5000)},
          {"scenes of 300", scenes(300)},
          {"scenes of 1,000", scenes(1000)},
          {"scenes of 300, heavy tails", heavy_scenes(300)},
          {"memory 0.1", long_memory(0.1, 0.1)},
          {"memory 0.2", long_memory(0.2, 0.1)},
          {"memory 0.3", long_memory(0.3, 0.1)},
          {"memory 0.4", long_memory(0.4, 0.1)},
          {"memory 0.4, as large as the noise", long_memory(0.4, 1)},
          {"memory 0.3, and forgets in 100", long_memory(0.3, 0.1, 100)},
          {"memory 0.4, and forgets in 100", long_memory(0.4, 0.1, 100)},
          {"ARFIMA(0, 0.45, 0), and forgets in 100", fractional_noise(0.45, 0.1, 100)}};
}

std::vector<Kind> untouched_kinds() {
  return {{"ARFIMA(0, 0.25, 0)", fractional_noise(0.25, 0.1)},
          {"ARFIMA(0, 0.45, 0)", fractional_noise(0.45, 0.1)},
          {"ARFIMA(0, 0.45, 0), as large as the noise", fractional_noise(0.45, 1)},
          {"forgets in 20 and in 2,000", two_autoregressions()},
          {"chapters with own spreads", chapters()},
          {"two kinds of passages in turn", taking_turns()},
          {"documents, scenes, lines", documents_scenes_lines()},
          {"rare passages of another kind", rare_passages()},
          {"independent, heavy tails", independent(), heavy_tailed},
          {"ARFIMA(0, 0.25, 0), heavy tails", fractional_noise(0.25, 0.1), heavy_tailed}};
}

std::vector<Kind> kinds_beyond() {
  return {{"ARFIMA(0, 0.49, 0)", fractional_noise(0.49, 0.1)}};
}

Kind kind_named(const std::string& name) {
  for (const auto& kinds : {tuned_kinds(), untouched_kinds(), kinds_beyond()})
    for (const Kind& kind : kinds)
      if (kind.name == name) return kind;
  throw std::invalid_argument("no kind of text is named " + name);
}

Losses losses_of(const Kind& kind, const SimulatedText& text, Draw& draw) {
  Losses losses(text.level.size());
  for (std::size_t t = 0; t < losses.size(); ++t) {
    const double spread = text.spread.empty() ? 1 : text.spread[t];
    losses[t] = static_cast<float>(true_mean + text.level[t] + spread * kind.own(draw));
  }
  return losses;
}

Trainings trainings(const Kind& kind, const SimulatedText& text, Draw& draw, int seeds, double deviation) {
  Trainings result;
  for (int seed = 0; seed < seeds; ++seed) {
    result.levels.push_back(deviation * draw.normal());
    result.losses.push_back(losses_of(kind, text, draw));
    for (float& loss : result.losses.back()) loss += static_cast<float>(result.levels.back());
  }
  return result;
}

}  // namespace chargpt
