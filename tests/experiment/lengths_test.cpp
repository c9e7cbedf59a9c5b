// What is said of configs that do not train equally long.
#include "experiment/compare.h"

#include "test.h"

namespace chargpt {
namespace {

/// Steps of 2 x 64 tokens; a train split of 1,280 tokens makes an epoch of 10 steps.
ResolvedConfig config_of(const std::string& length) {
  return parse_config(R"({"model": {"block_size": 64}, "train": {"batch_size": 2, )" + length + "}}", "test", {});
}

std::string difference(const std::string& a, const std::string& b) {
  return length_difference({config_of(a), config_of(b)}, {"a", "b"}, 1280);
}

}  // namespace

TEST_CASE("configs that train equally long are not spoken of") {
  CHECK(difference(R"("max_iters": 30)", R"("max_iters": 30)").empty());
  CHECK(difference(R"("max_iters": 30)", R"("max_epochs": 3)").empty());
  CHECK(difference(R"("max_iters": 30)", R"("max_iters": 90, "max_epochs": 3)").empty());
  CHECK(difference(R"("max_seconds": 7)", R"("max_seconds": 7)").empty());
}

TEST_CASE("what differs is named: tokens, steps or seconds") {
  CHECK(difference(R"("max_iters": 10)", R"("max_iters": 10, "gradient_accumulation_steps": 2)") ==
        "configs differ in length: a 1.28k tokens in 10 steps, b 2.56k tokens in 10 steps; --max_iters makes steps "
        "equal, --max_seconds time");
  CHECK_FALSE(difference(R"("max_iters": 10)", R"("max_iters": 5, "gradient_accumulation_steps": 2)").empty());
  CHECK(difference(R"("max_seconds": 7)", R"("max_iters": 10)")
            .starts_with("configs differ in length: a 7.0 s, b 1.28k tokens in 10 steps; "));
}

TEST_CASE("of many configs the first four are listed") {
  std::vector<ResolvedConfig> configs(6, config_of(R"("max_iters": 10)"));
  configs.back() = config_of(R"("max_iters": 20)");
  CHECK(length_difference(configs, {"a", "b", "c", "d", "e", "f"}, 1280)
            .ends_with(", d 1.28k tokens in 10 steps, …; --max_iters makes steps equal, --max_seconds time"));
}

}  // namespace chargpt
