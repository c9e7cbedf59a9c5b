// How long configs train that are to have equally many updates, tokens or seconds.
#include "experiment/compare/equal_length.h"

#include "base/error.h"
#include "test.h"

namespace chargpt {
namespace {

ResolvedConfig with(const std::string& options) {
  return parse_config(options, "config", {});
}

/// 8 windows of 16 tokens: 128 a step.
ResolvedConfig small(const std::string& length) {
  return with(R"({"model": {"block_size": 16}, "train": {"batch_size": 8, )" + length + "}}");
}

}  // namespace

TEST_CASE("updates are known from options, epochs of the train split among them, and seconds from their own limit") {
  CHECK(known_length(small(R"("max_iters": 70)"), Equal::updates, 1280)->updates == 70);
  CHECK(known_length(small(R"("max_epochs": 3)"), Equal::tokens, 1280)->updates == 30);
  CHECK(known_length(small(R"("max_iters": 20, "max_epochs": 3)"), Equal::updates, 1280)->updates == 20);
  CHECK(known_length(small(R"("max_seconds": 7)"), Equal::seconds, 1280)->seconds == 7);
  CHECK_FALSE(known_length(small(R"("max_iters": 20)"), Equal::seconds, 1280));
  CHECK_FALSE(known_length(small(R"("max_seconds": 7)"), Equal::updates, 1280));
  CHECK_FALSE(known_length(small(R"("max_seconds": 7, "max_iters": 20)"), Equal::seconds, 1280));
}

TEST_CASE("equal updates and tokens take the place of every other length") {
  const ResolvedConfig first = small(R"("max_iters": 70)");
  const auto lengths = [&](Equal equal) {
    std::vector<ResolvedConfig> configs{first, small(R"("max_epochs": 3, "gradient_accumulation_steps": 3)"),
                                        with(R"({"model": {"block_size": 65536}, "train": {"max_seconds": 9}})")};
    equalise(configs, equal, {.updates = 70});
    for (const ResolvedConfig& config : configs) {
      CHECK(config.config.train.max_epochs == 0);
      CHECK(config.config.train.max_seconds == 0);
    }
    return std::vector<std::int64_t>{configs[0].config.train.max_iters, configs[1].config.train.max_iters,
                                     configs[2].config.train.max_iters};
  };
  CHECK(lengths(Equal::updates) == std::vector<std::int64_t>{70, 70, 70});
  CHECK(lengths(Equal::tokens) == std::vector<std::int64_t>{70, 23, 1});  // 70 / 3 is nearest to 23
}

TEST_CASE("equal seconds leave the first config as it is") {
  std::vector<ResolvedConfig> configs{small(R"("max_iters": 70)"), small(R"("max_iters": 70)")};
  const std::string note = equalise(configs, Equal::seconds, {.updates = 70, .seconds = 1.23456});
  CHECK(configs[0].config.train.max_iters == 70);
  CHECK(configs[0].config.train.max_seconds == 0);
  CHECK(configs[1].config.train.max_iters == 0);
  CHECK(configs[1].config.train.max_seconds == 1.235);
  CHECK(configs[1].origin.at("train.max_seconds") == "--equal");
  CHECK(note.starts_with("equal seconds: every config trains for 1.2 s, as many as config"));
}

}  // namespace chargpt
