// RUN/adapt.json: comes back as it was kept.
#include "cli/runs/adaptation.h"

#include "run/run_files.h"
#include "test.h"
#include "test_folder.h"

namespace chargpt {
namespace {

TEST_CASE("how a run adapts comes back as it was kept, for its weights alone, and of runs alone") {
  const TestFolder folder;
  constexpr std::uint64_t weights = 0xfedcba9876543210;
  const AdaptationChoice choice{
      .adaptation = {.rate = 2e-4, .decay = 5e-4}, .tokens = 1234, .trials = {{1e-4, 1.5}, {2e-4, 1.4}}};
  keep_choice(folder.path(), weights, choice);
  CHECK_FALSE(kept_choice(folder.path(), weights));  // it is no run
  mark_run(folder.path());
  keep_choice(folder.path(), weights, choice);
  CHECK_FALSE(kept_choice(folder.path(), weights + 1));
  const std::optional<AdaptationChoice> kept = kept_choice(folder.path(), weights);
  REQUIRE(kept);
  CHECK(kept->adaptation.rate == 2e-4);
  CHECK(kept->adaptation.decay == 5e-4);
  CHECK(kept->tokens == 1234);
  REQUIRE(kept->trials.size() == 2);
  CHECK(kept->trials[1].rate == 2e-4);
  CHECK(kept->trials[1].loss == 1.4);
}

}  // namespace
}  // namespace chargpt
