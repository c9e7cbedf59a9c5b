#include "cli/training/chosen_config.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace chargpt;

TEST_CASE("a machine twice as slow gets the preset that it has the time for") {
  const auto chosen = [](double minutes, std::int64_t tokens, double steps_of_default_a_second) {
    std::vector<std::string> asked;
    const std::string name =
        chosen_preset(minutes, tokens, [&](const TimedPreset& preset) {
          asked.push_back(preset.name);
          const double slower = preset.name == "half-hour" ? 3.3 : preset.name == "five-minutes" ? 1.8 : 1;
          return static_cast<std::int64_t>(60 * minutes * steps_of_default_a_second / slower);
        }).name;
    if (!asked.empty()) CHECK(asked.back() == (name == "quick" ? "default" : name));
    return name;
  };
  CHECK(chosen(1, 1'000'000, 107) == "five-minutes");
  CHECK(chosen(1, 1'000'000, 53) == "default");
  CHECK(chosen(1, 1'000'000, 5) == "quick");
  CHECK(chosen(1, 600'000, 412.5) == "half-hour");   // with less of any it would be five-minutes
  CHECK(chosen(5, 500'000, 107) == "five-minutes");  // a text that the largest would learn by heart
  CHECK(chosen(5, 20'000, 107) == "default");
  CHECK(chosen(0.01, 1'000'000, 1e6) == "quick");  // nothing is measured
}
