// The figures that a run keeps: untrusted input.
#include "run/checkpoints.h"

#include <nlohmann/json.hpp>

#include "test_folder.h"

namespace chargpt {
namespace {

TEST_CASE_METHOD(TestFolder, "figures are those of the one checkpoint whose step they name") {
  write("run.json", R"({"format": "chargpt run", "version": 1, "figures": {"loss": 1.5, "checkpoint": {"step": 4}}})");
  const auto figures_at = [&](std::int64_t step) {
    Checkpoint checkpoint;
    checkpoint.path = path() / "checkpoints/step-00000004.safetensors";
    checkpoint.state.step = step;
    return kept_figures(checkpoint);
  };
  CHECK(figures_at(4).value("loss", 0.0) == 1.5);
  CHECK(figures_at(2).is_null());
}

}  // namespace
}  // namespace chargpt
