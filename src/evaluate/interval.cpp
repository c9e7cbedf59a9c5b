// Slow waves of the losses, and the memory that they tell of.
//
// The losses of a text hang together over every distance: characters of a word, lines of a speech, scenes, documents.
// Blocks of any fixed length miss what is longer than they are. So only the slowest waves are looked at: the first q
// coefficients of the cosine transform of the losses along the text, whatever is faster being noise to them. Without
// memory they are independent and each as large as the error of the mean, which is then Student's with q degrees of
// freedom (Mueller 2014, "HAC corrections for strongly autocorrelated time series"). With memory d, correlations that
// fall off as distance^(2d - 1), wave j has a variance of about j^(-2d), and that of the mean's error is larger still;
// both follow from d. Whatever is short-lived in the losses covers that pattern with noise, and most of the faster
// waves, but not the mean's error. Neither the memory nor the noise is known, so the interval is a mixture over both,
// each pair weighted by the likelihood of the waves (Mueller and Watson 2016, "Measuring uncertainty about long-run
// predictions", Review of Economic Studies 83; their b is the noise). A memory of 1/2 or more is a drift: a mean of
// more such text does not exist, or this text does not tell it.
#include "evaluate/interval.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "evaluate/student.h"

namespace chargpt {
namespace {

constexpr std::size_t most_parts = 4096, fewest_characters = 10'000;
constexpr int waves = 32;

/// Variances of the mean's error and of the waves, of a text with `memory` and noise: `noise` is its share in the
/// waves' mean variance.
struct Spectrum {
  double memory = 0, noise = 0, prior = 0;
  double mean = 0;                    ///< of the mean's error; meaningless where memory >= 1/2
  std::vector<double> of_waves = {};  ///< (q); their own mean is 1
  double log_determinant = 0;
};

/// cos(pi j (t + 1/2) / n) sqrt(2) / n at each t: what wave j is the sum over.
std::vector<double> cosine(int j, std::size_t n) {
  std::vector<double> values(n);
  for (std::size_t t = 0; t < n; ++t)
    values[t] = std::numbers::sqrt2 / static_cast<double>(n) *
                std::cos(std::numbers::pi * j * (static_cast<double>(t) + 0.5) / static_cast<double>(n));
  return values;
}

/// Covariance of two cells `k` apart, up to a constant factor and one that the waves do not see: second difference of
/// |k|^(2d + 1), that of fractional noise below 1/2 and of fractional motion above. Source: Mandelbrot and Van Ness
/// 1968.
std::vector<double> covariances(double d, std::size_t n) {
  const auto power = [d](double k) { return std::pow(k, 2 * d + 1); };
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto k = static_cast<double>(i);
    values[i] = (d < 0.5 ? 0.5 : -0.5) * (power(k + 1) - 2 * power(k) + power(std::abs(k - 1)));
  }
  return values;
}

/// Variance of sum over t of weights[t] x[t].
double variance_of_sum(const std::vector<double>& weights, const std::vector<double>& covariance) {
  double sum = 0;
  for (std::size_t t = 0; t < weights.size(); ++t) {
    sum += weights[t] * weights[t] * covariance[0];
    for (std::size_t k = 1; t + k < weights.size(); ++k) sum += 2 * weights[t] * weights[t + k] * covariance[k];
  }
  return sum;
}

Spectrum spectrum_of(double memory, double noise, double prior) {
  constexpr std::size_t cells = 256;
  const std::vector<double> covariance = covariances(memory, cells);
  Spectrum spectrum{.memory = memory, .noise = noise, .prior = prior};
  for (int j = 1; j <= waves; ++j) spectrum.of_waves.push_back(variance_of_sum(cosine(j, cells), covariance));
  const double unit = std::accumulate(spectrum.of_waves.begin(), spectrum.of_waves.end(), 0.0) / waves;
  const auto with_noise = [&](double variance) { return (1 - noise) * variance / unit + noise; };
  spectrum.mean = with_noise(variance_of_sum(std::vector<double>(cells, 1.0 / cells), covariance));
  for (double& variance : spectrum.of_waves) {
    variance = with_noise(variance);
    spectrum.log_determinant += std::log(variance);
  }
  return spectrum;
}

/// Every memory from none to 0.96 in steps of 0.08, equally likely beforehand but for the last below 1/2: it counts
/// three times, since the mean's error grows without bound from there to 1/2. Of each, a quarter under noise.
const std::vector<Spectrum>& spectra() {
  static const std::vector<Spectrum> all = [] {
    std::vector<Spectrum> list = {spectrum_of(0, 0, 1)};
    for (int step = 1; step <= 12; ++step) {
      const double prior = step == 6 ? 3 : 1;
      list.push_back(spectrum_of(0.08 * step, 0, 0.75 * prior));
      list.push_back(spectrum_of(0.08 * step, 0.6, 0.25 * prior));
    }
    return list;
  }();
  return all;
}

/// Coefficients 1 … q of the cosine transform, squared.
std::vector<double> squared_waves(std::span<const double> parts) {
  const double mean = std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(parts.size());
  std::vector<double> squares;
  for (int j = 1; j <= waves; ++j) {
    const std::vector<double> weights = cosine(j, parts.size());
    double sum = 0;
    for (std::size_t t = 0; t < parts.size(); ++t) sum += weights[t] * (parts[t] - mean);
    squares.push_back(sum * sum);
  }
  return squares;
}

/// Mean of (wave^2 / its variance): the square of the scale that fits.
double fitted_square(const std::vector<double>& squares, const Spectrum& spectrum) {
  double sum = 0;
  for (std::size_t j = 0; j < squares.size(); ++j) sum += squares[j] / spectrum.of_waves[j];
  return sum / static_cast<double>(squares.size());
}

/// Of the waves under the spectrum, its scale integrated out, and of the spectrum beforehand.
double log_posterior(const Spectrum& spectrum, double fitted) {
  return std::log(spectrum.prior) - spectrum.log_determinant / 2 - waves / 2.0 * std::log(fitted);
}

}  // namespace

Confidence around(double mean, double half_width) {
  return {.interval = Interval{mean - half_width, mean + half_width}};
}

Confidence cannot_say(std::string reason) {
  return {.reason = std::move(reason)};
}

std::vector<double> part_means(std::span<const float> losses) {
  const std::size_t parts = std::min(most_parts, losses.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = losses.size() * i / parts, end = losses.size() * (i + 1) / parts;
    const auto part = losses.subspan(begin, end - begin);
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size()));
  }
  return means;
}

MeanSpread::MeanSpread(std::span<const double> parts, std::size_t characters) {
  if (characters < fewest_characters) {
    reason_ = "the text is too short: " + std::to_string(characters) + " losses, and " +
              std::to_string(fewest_characters) + " are the fewest that tell";
    return;
  }
  if (!std::all_of(parts.begin(), parts.end(), [](double part) { return std::isfinite(part); })) {
    reason_ = "a loss is not finite";
    return;
  }
  const std::vector<double> squares = squared_waves(parts);
  if (std::all_of(squares.begin(), squares.end(), [](double square) { return square < 1e-28; })) return;  // no spread
  std::vector<double> logs;
  for (const Spectrum& spectrum : spectra()) {
    const double fitted = fitted_square(squares, spectrum);
    logs.push_back(log_posterior(spectrum, fitted));
    memories_.push_back({.weight = 0, .scale = std::sqrt(spectrum.mean * fitted)});
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double drift = 0, rest = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    memories_[i].weight = std::exp(logs[i] - largest);
    (spectra()[i].memory < 0.5 ? rest : drift) += memories_[i].weight;
  }
  if (drift > rest) {
    reason_ = "the losses drift along the text, so it does not tell what more of its kind would cost";
    return;
  }
  for (std::size_t i = logs.size(); i-- > 0;)
    if (spectra()[i].memory >= 0.5) memories_.erase(memories_.begin() + static_cast<std::ptrdiff_t>(i));
  for (Memory& memory : memories_) memory.weight /= rest;
}

double MeanSpread::p(double distance) const {
  if (memories_.empty()) return distance == 0 ? 1 : 0;
  double sum = 0;
  for (const Memory& memory : memories_) sum += memory.weight * student_p(distance / memory.scale, waves);
  return sum;
}

double MeanSpread::half_width(double p) const {
  double low = 0, widest = 0;
  for (const Memory& memory : memories_) widest = std::max(widest, memory.scale);
  double high = widest * student_critical(p, waves);
  for (int i = 0; i < 60 && high - low > 1e-9 * high; ++i) {
    const double middle = (low + high) / 2;
    (this->p(middle) > p ? low : high) = middle;
  }
  return high;
}

Confidence mean_interval(std::span<const float> losses) {
  const std::vector<double> parts = part_means(losses);
  const MeanSpread spread(parts, losses.size());
  if (!spread.reason().empty()) return cannot_say(spread.reason());
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  Confidence interval = around(mean, spread.half_width(0.05));
  interval.interval->low = std::max(interval.interval->low, std::min(mean, 0.0));  // no loss is below 0
  return interval;
}

}  // namespace chargpt
