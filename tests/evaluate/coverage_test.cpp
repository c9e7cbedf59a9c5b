// How often the intervals hold the truth, on simulated losses of many kinds: the tables of src/evaluate/README.md. Run
// `build/tests/test_evaluate "[coverage]" -s` to print them: some minutes on two threads, the same figures on any
// number.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <thread>

#include "evaluate/interval.h"
#include "evaluate/paired.h"
#include "simulated_losses.h"
#include "test.h"

namespace chargpt {
namespace {

/// measure(i) for each i below `count`, in that order, on every core.
template <class Measure>
auto each_of(int count, const Measure& measure) {
  std::vector<decltype(measure(0))> results(static_cast<std::size_t>(count));
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) results[static_cast<std::size_t>(i)] = measure(i);
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(work);
  work();
  others.clear();
  return results;
}

double mean_of(const Losses& losses) {
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

/// One interval, and what it should hold.
struct Told {
  Confidence ci95 = {};
  double mean = 0, truth = true_mean;
};

struct Coverage {
  int texts = 0, held = 0, missed = 0;
  std::vector<double> half_widths = {}, errors = {};

  void add(const Told& told) {
    ++texts;
    errors.push_back((told.mean - told.truth) * (told.mean - told.truth));
    if (!told.ci95.interval) return;
    const Interval& interval = *told.ci95.interval;
    ++(interval.low <= told.truth && told.truth <= interval.high ? held : missed);
    half_widths.push_back((interval.high - interval.low) / 2);
  }
  int said() const { return held + missed; }
  double part(int count) const { return static_cast<double>(count) / texts; }
  double median_width() const {
    std::vector<double> sorted = half_widths;
    if (sorted.empty()) return std::nan("");
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double error() const {
    double sum = 0;
    for (const double square : errors) sum += square;
    return std::sqrt(sum / texts);
  }
  double held_where_said() const { return static_cast<double>(held) / (said()); }
  /// At least 93 % of what is said holds; where little is said, at most 7 % of the texts are told something wrong.
  bool holds() const { return said() >= 100 ? held_where_said() >= 0.93 : part(missed) <= 0.07; }
  /// At most 7 % of what is said misses, but for luck: two standard errors.
  bool holds_but_for_luck() const { return missed <= 0.07 * said() + 2 * std::sqrt(0.07 * 0.93 * said()); }
  /// "97.2 % (11 %), 1.671": held where said (not said), median half width.
  std::string cell() const {
    char text[100];
    if (said() == 0) return "– (100 %)";
    std::snprintf(text, sizeof text, "%.1f %% (%.0f %%), %.3f", 100 * held_where_said(),
                  100 * part(texts - held - missed), median_width());
    return text;
  }
  /// What the cell rounds away, and the width in those of an interval that knows the variance of the mean.
  std::string row(const std::string& name) const {
    char line[300];
    std::snprintf(line, sizeof line, "%s: %d hold, %d miss, %d cannot say; half width %.5f, %.1f times the ideal",
                  name.c_str(), held, missed, texts - held - missed, median_width(), median_width() / (1.96 * error()));
    return line;
  }
};

Coverage coverage_of(const Kind& kind, std::size_t n, int texts) {
  Coverage coverage;
  for (const Told& told : each_of(texts, [&](int text) {
         Draw draw(static_cast<std::uint64_t>(text));
         const Losses losses = losses_of(kind, kind.text(draw, n), draw);
         return Told{.ci95 = mean_interval(losses), .mean = mean_of(losses)};
       }))
    coverage.add(told);
  return coverage;
}

constexpr std::array<int, 4> seed_counts = {1, 2, 3, 5};

template <class T>
using OfSeeds = std::array<T, seed_counts.size()>;

struct SeedsCoverage {
  OfSeeds<Coverage> more_text = {}, this_text = {};
};

/// What compare says of the first 1, 2, 3 and 5 trainings on one text. Of one seed, it speaks of these weights, whose
/// level is no error then.
OfSeeds<std::pair<Told, Told>> told_of_seeds(const Kind& kind, std::size_t n, std::uint64_t text_seed) {
  Draw draw(text_seed);
  const SimulatedText text = kind.text(draw, n);
  const double of_text = std::accumulate(text.level.begin(), text.level.end(), 0.0) / static_cast<double>(n);
  const Trainings trained = trainings(kind, text, draw, seed_counts.back(), 0.01);
  OfSeeds<std::pair<Told, Told>> told;
  for (std::size_t k = 0; k < seed_counts.size(); ++k) {
    const auto seeds = static_cast<std::size_t>(seed_counts[k]);
    const MeanEstimate estimate = mean_over_seeds(std::span(trained.losses).first(seeds));
    const double of_weights = estimate.weights_only ? trained.levels[0] : 0;
    told[k] = {{.ci95 = estimate.more_text.ci95, .mean = estimate.mean, .truth = true_mean + of_weights},
               {.ci95 = estimate.this_text.ci95, .mean = estimate.mean, .truth = true_mean + of_text}};
  }
  return told;
}

SeedsCoverage seeds_coverage_of(const Kind& kind, std::size_t n, int texts) {
  SeedsCoverage coverage;
  for (const auto& told :
       each_of(texts, [&](int text) { return told_of_seeds(kind, n, static_cast<std::uint64_t>(text)); }))
    for (std::size_t k = 0; k < seed_counts.size(); ++k) {
      coverage.more_text[k].add(told[k].first);
      coverage.this_text[k].add(told[k].second);
    }
  return coverage;
}

/// Standard error of a share of 0.05 among `texts`, twice: what luck may add to the misses of an interval that holds.
double luck(int texts) {
  return 2 * std::sqrt(0.05 * 0.95 / texts);
}

/// Losses' means of `configs` that are equal (or the first better by `gain`), over `seeds`: what seeds have in common,
/// and each config's own spread. One loss a run: the text is the same for all.
std::vector<std::vector<Losses>> equal_configs(Draw& draw, int configs, int seeds, bool alike, double gain) {
  std::vector<std::vector<Losses>> all(static_cast<std::size_t>(configs));
  for (int seed = 0; seed < seeds; ++seed) {
    const double common = 0.5 * draw.normal();
    for (int i = 0; i < configs; ++i) {
      const double spread = alike ? 1 : std::pow(4, static_cast<double>(i) / std::max(1, configs - 1));
      all[static_cast<std::size_t>(i)].push_back(
          {static_cast<float>(common + spread * draw.normal() - (i == 0 ? gain : 0))});
    }
  }
  return all;
}

/// Whether any config is called better than another, as rank_configs() would: the best against each. `claim`: by which
/// of the two.
bool any_claim(const std::vector<std::vector<Losses>>& configs, Claim MeanEstimate::*claim) {
  const auto mean = [](const std::vector<Losses>& config) {
    double sum = 0;
    for (const Losses& losses : config) sum += mean_of(losses);
    return sum;
  };
  const auto best =
      std::min_element(configs.begin(), configs.end(), [&](const auto& a, const auto& b) { return mean(a) < mean(b); });
  const auto m = std::ssize(configs);
  for (auto other = configs.begin(); other != configs.end(); ++other) {
    if (other == best) continue;
    const MeanEstimate difference = paired_difference(*other, *best, m * (m - 1) / 2);
    const std::optional<Interval>& interval = (difference.*claim).ci95.interval;
    if (interval && interval->low > 0) return true;
  }
  return false;
}

double claims(int configs, int seeds, bool alike, int comparisons, double gain = 0) {
  int count = 0;
  for (const int claimed : each_of(comparisons, [&](int i) {
         Draw draw(static_cast<std::uint64_t>(i));
         return static_cast<int>(any_claim(equal_configs(draw, configs, seeds, alike, gain), &MeanEstimate::this_text));
       }))
    count += claimed;
  return static_cast<double>(count) / comparisons;
}

/// The same on more text: configs that are equal over all texts of the kind, each good at other passages of this one.
double claims_on_more_text(const Kind& kind, int configs, int seeds, int comparisons) {
  constexpr std::size_t n = 20'000;
  int count = 0;
  for (const int claimed : each_of(comparisons, [&](int i) {
         Draw draw(static_cast<std::uint64_t>(i));
         std::vector<std::vector<Losses>> all;
         for (int config = 0; config < configs; ++config)
           all.push_back(trainings(kind, kind.text(draw, n), draw, seeds, seeds == 1 ? 0 : 0.01).losses);
         return static_cast<int>(any_claim(all, &MeanEstimate::more_text));
       }))
    count += claimed;
  return static_cast<double>(count) / comparisons;
}

}  // namespace

TEST_CASE("the interval of a short text of independent losses holds their mean", "[coverage]") {
  const Coverage coverage = coverage_of(kind_named("independent"), 10'000, 300);
  CHECK(coverage.part(coverage.missed) < 0.05 + luck(300));
  CHECK(coverage.part(coverage.held) > 0.93);
}

TEST_CASE("a text that remembers long has an interval that knows it", "[coverage]") {
  const Coverage coverage = coverage_of(kind_named("memory 0.3"), 20'000, 200);
  CHECK(coverage.part(coverage.missed) < 0.05 + luck(200));
  CHECK(coverage.part(coverage.held) > 0.8);
}

TEST_CASE("a long memory that short-lived losses cover with noise is not missed", "[coverage]") {
  const Coverage coverage = coverage_of(kind_named("ARFIMA(0, 0.45, 0), and forgets in 100"), 20'000, 400);
  CHECK(coverage.held_where_said() >= 0.93);  // 0.88 by memories without noise
  CHECK(coverage.part(coverage.held) > 0.8);
}

TEST_CASE("of texts that drift nothing is said", "[coverage]") {
  int silent = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draw draw(seed);
    SimulatedText walk{.level = std::vector<double>(20'000)};
    for (std::size_t t = 1; t < walk.level.size(); ++t) walk.level[t] = walk.level[t - 1] + 0.01 * draw.normal();
    silent += mean_interval(losses_of(kind_named("independent"), walk, draw))
                  .reason.starts_with("the losses drift along the text");
  }
  CHECK(silent >= 36);
}

TEST_CASE("of equal configs at most one comparison in twenty calls one better", "[coverage]") {
  CHECK(claims(2, 3, true, 500) < 0.05 + luck(500));
  CHECK(claims(4, 3, true, 500) < 0.05 + luck(500));
  CHECK(claims(4, 3, false, 500) < 0.05 + luck(500));
}

TEST_CASE("the difference that 80 of 100 comparisons are said to show is shown by as many", "[coverage]") {
  const double deviation = std::sqrt(2);  // of the difference of two independent runs
  for (const int seeds : {3, 5}) {
    const double gain = *shown_difference({.seeds = seeds, .deviation = deviation});
    CHECK(claims(2, seeds, true, 500, gain) == Approx(0.8).margin(2 * std::sqrt(0.8 * 0.2 / 500)));
  }
}

TEST_CASE("comparisons of equal configs: how often one is called better", "[soak][coverage]") {
  std::string table =
      "\n| configs | seeds | called better, alike | unlike | shown in 80 of 100 |\n|---|---|---|---|---|\n";
  constexpr int comparisons = 40'000;
  for (const int configs : {2, 3, 4, 5, 6})
    for (const int seeds : {2, 3, 5, 10}) {
      const double alike = claims(configs, seeds, true, comparisons),
                   unlike = claims(configs, seeds, false, comparisons);
      char line[200];
      std::snprintf(
          line, sizeof line, "| %d | %d | %.1f %% | %.1f %% | %.1f |\n", configs, seeds, 100 * alike, 100 * unlike,
          *shown_difference({.seeds = seeds, .deviation = std::sqrt(2), .comparisons = configs * (configs - 1) / 2}));
      table += line;
      INFO(line);
      CHECK(alike < 0.05 + luck(comparisons));
      CHECK(unlike < 0.05 + luck(comparisons));
    }
  SUCCEED(table);
}

TEST_CASE("comparisons of equal configs on more text: how often one is called better", "[soak][coverage]") {
  std::string table =
      "\n| configs | seeds | what each adds along the text | called better on more text |\n|---|---|---|---|\n";
  constexpr int comparisons = 400;
  for (const char* name : {"forgets in 100", "memory 0.4, and forgets in 100", "ARFIMA(0, 0.45, 0)"})
    for (const int configs : {2, 6})
      for (const int seeds : {1, 3}) {
        const double claimed = claims_on_more_text(kind_named(name), configs, seeds, comparisons);
        char line[200];
        std::snprintf(line, sizeof line, "| %d | %d | %s | %.1f %% |\n", configs, seeds, name, 100 * claimed);
        table += line;
        INFO(line);
        CHECK(claimed < 0.05 + luck(comparisons));
      }
  SUCCEED(table);
}

TEST_CASE("intervals of eval: coverage of every kind of text", "[soak][coverage]") {
  std::string table =
      "\n| what a text adds to its characters' losses | 20,000 characters | 100,000 | 1,000,000 |\n|---|---|---|---|\n";
  const auto add_row = [&](const Kind& kind, bool promised) {
    table += "| " + kind.name + " |";
    for (const auto& [n, texts] : {std::pair<std::size_t, int>{20'000, 1000}, {100'000, 400}, {1'000'000, 100}}) {
      const Coverage coverage = coverage_of(kind, n, texts);
      table += " " + coverage.cell() + " |";
      INFO(coverage.row(kind.name + ", " + std::to_string(n)));
      if (promised)
        CHECK(coverage.holds());
      else
        CHECK_FALSE(coverage.holds());
    }
    table += "\n";
  };
  table += "| **weights were chosen on these** | | | |\n";
  for (const Kind& kind : tuned_kinds()) add_row(kind, true);
  table += "| **nothing was chosen on these** | | | |\n";
  for (const Kind& kind : untouched_kinds()) add_row(kind, true);
  table += "| **beyond what is promised** | | | |\n";
  for (const Kind& kind : kinds_beyond()) add_row(kind, false);
  SUCCEED(table);
}

TEST_CASE("intervals of compare: coverage over seeds and texts", "[soak][coverage]") {
  std::string table =
      "\n| text, characters | more text: 1 seed | 2 | 3 | 5 | this text: 2 seeds | 3 | 5 "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const char* name : {"independent", "forgets in 100", "memory 0.4", "ARFIMA(0, 0.45, 0)",
                           "chapters with own spreads", "documents, scenes, lines"})
    for (const auto& [n, texts] : {std::pair<std::size_t, int>{20'000, 300}, {100'000, 150}, {1'000'000, 60}}) {
      const SeedsCoverage coverage = seeds_coverage_of(kind_named(name), n, texts);
      CHECK(coverage.this_text[0].said() == 0);  // cannot say
      const std::string text = std::string(name) + ", " + std::to_string(n);
      table += "| " + text + " |";
      for (const auto* of_seeds : {&coverage.more_text, &coverage.this_text})
        for (std::size_t k = of_seeds == &coverage.more_text ? 0 : 1; k < seed_counts.size(); ++k) {
          table += " " + (*of_seeds)[k].cell() + " |";
          INFO((*of_seeds)[k].row(text + ", seeds " + std::to_string(seed_counts[k])));
          CHECK((*of_seeds)[k].holds_but_for_luck());
        }
      table += "\n";
    }
  SUCCEED(table);
}

}  // namespace chargpt
