// RUN/adapt.json: comes back as it was kept, and is hostile until read.
#include "run/kept_adaptation.h"

#include "base/error.h"
#include "base/files.h"
#include "base/open_folder.h"
#include "run/run_files.h"
#include "test.h"
#include "test_folder.h"

namespace chargpt {
namespace {

TEST_CASE("the rate of adaptation comes back as it was kept, of runs alone") {
  const TestFolder folder;
  const KeptAdaptation adaptation{
      .weights = 0xfedcba9876543210, .rate = 2e-4, .decay = 5e-4, .tokens = 1234, .trials = {{1e-4, 1.5}, {2e-4, 1.4}}};
  keep_adaptation(folder.path(), adaptation);
  CHECK_FALSE(kept_adaptation(folder.path()));  // it is no run
  mark_run(folder.path());
  keep_adaptation(folder.path(), adaptation);
  const std::optional<KeptAdaptation> kept = kept_adaptation(folder.path());
  REQUIRE(kept);
  CHECK(kept->weights == adaptation.weights);
  CHECK(kept->rate == 2e-4);
  CHECK(kept->decay == 5e-4);
  CHECK(kept->tokens == 1234);
  REQUIRE(kept->trials.size() == 2);
  CHECK(kept->trials[1].rate == 2e-4);
  CHECK(kept->trials[1].loss == 1.4);
}

}  // namespace
}  // namespace chargpt
