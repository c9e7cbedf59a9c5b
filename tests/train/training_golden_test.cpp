// Training against PyTorch: losses, gradient norms and rates of tests/golden/training.json, whose weights, tokens and
// windows are formulas described there (scripts/reference/models.py wrote it). And one figure that says whether
// training has changed.

#include <nlohmann/json.hpp>

#include "config/load.h"
#include "engine/engine.h"
#include "small_run.h"
#include "train/learner.h"

#include "golden_weights.h"
#include "kept_windows.h"

using namespace chargpt;

namespace {

std::int64_t token(std::uint32_t j) {
  return static_cast<std::int64_t>(mix(j / 5) % 13 * 5 + j % 5);
}

Config config_of(const nlohmann::json& run) {
  const nlohmann::json text{{"name", run.at("name")}, {"model", run.at("model")}, {"train", run.at("train")}};
  return parse_config(text.dump(), "training.json", {}).config;
}

void fill(ParameterArena& arena, const nlohmann::json& parameter) {
  const std::span<float> values = values_of(arena, parameter.at("name").get<std::string>());
  std::size_t numel = 1;
  for (const auto& size : parameter.at("shape")) numel *= size.get<std::size_t>();
  REQUIRE(values.size() == numel);
  fill_by_formula(values, parameter);
}

std::vector<WindowBatch> windows_by_formula(const nlohmann::json& run, const Config& config, std::int64_t step) {
  const std::int64_t T = config.model.block_size, B = config.train.batch_size,
                     steps = config.train.gradient_accumulation_steps;
  const auto places = static_cast<std::uint32_t>(run.at("tokens").get<std::int64_t>() - T);
  std::vector<WindowBatch> batches;
  for (std::int64_t micro = 0; micro < steps; ++micro) {
    std::vector<std::int64_t> ids;  // (B, T + 1)
    for (std::int64_t row = 0; row < B; ++row) {
      const std::uint32_t start =
          mix(0x10000000U + static_cast<std::uint32_t>((step * steps + micro) * B + row)) % places;
      for (std::int64_t t = 0; t <= T; ++t) ids.push_back(token(start + static_cast<std::uint32_t>(t)));
    }
    batches.push_back(kept_windows(ids, B));
  }
  return batches;
}

}  // namespace

TEST_CASE("losses, gradient norms and rates of whole training steps are PyTorch's, with either engine", "[libtorch]") {
  const nlohmann::json document = golden_figures("training");
  const std::string engine_name = GENERATE("libtorch", "cpu");
  for (const nlohmann::json& run : document.at("runs")) {
    INFO(run.at("name") << ", " << engine_name);
    const Config config = config_of(run);
    const auto vocab_size = run.at("vocab_size").get<std::int64_t>();
    ParameterArena arena(parameter_list(config.model, vocab_size), config.model.decay, config.train);
    for (const nlohmann::json& parameter : run.at("parameters")) fill(arena, parameter);
    const auto engine = make_engine(
        engine_name, {.model = config.model, .vocab_size = vocab_size, .train = config.train, .arena = arena});
    Communicator alone;
    for (std::int64_t step = 0; step < run.at("steps").get<std::int64_t>(); ++step) {
      INFO("step " << step);
      const auto i = static_cast<std::size_t>(step);
      const double rate =
          learning_rate_at(config.train, step, part_of_decay(config.train, step, config.train.max_iters));
      CHECK(rate == Approx(run.at("learning_rates")[i].get<double>()).epsilon(1e-12));
      const std::vector<WindowBatch> batches = windows_by_formula(run, config, step);
      const Gradients result =
          make_step(*engine, arena, config.train, rate / config.train.learning_rate,
                    {.step = step, .seed = 1, .micro_batches = batches, .tokens = counted(batches)}, alone);
      CHECK(result.loss == Approx(run.at("losses")[i].get<double>()).margin(1e-4));
      CHECK(result.norm == Approx(run.at("grad_norms")[i].get<double>()).epsilon(2e-3));
    }
  }
}

TEST_CASE("signature: twelve steps of the small run end at one loss") {
  EndedRun run(small_config());
  // A change of this figure is a change of what training does: say so in the commit that makes it.
  CHECK(run.recorder->losses().back() == Approx(2.081667).margin(1e-4));
}
