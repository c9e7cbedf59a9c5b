// n + m steps equal n, stop, resume, m: bit for bit.

#include <nlohmann/json.hpp>

#include "engine/device.h"
#include "run/checkpoint.h"
#include "train/conditions.h"
#include "twin.h"

using namespace chargpt;

TEST_CASE_METHOD(TestFolder, "a run that goes on has all of its progress again, whatever that consists of") {
  ResolvedConfig config = small_config();
  config.config.train.ema = 0.9;
  config.config.train.keep = 3;
  StoppedRun first(config, path(), 11);
  const Checkpoint stopped = last_checkpoint(path());
  ResumedRun second(config, path(), stopped);
  nlohmann::ordered_json then = to_json(stopped.state);
  CHECK(then["training_seconds"] > 0.0);
  CHECK(then["best_step"] > 0);
  then["ended"] = "unknown";  // it goes on
  CHECK(to_json(second.trainer.state()) == then);
}

TEST_CASE("a run goes on with its own device, engine and threads where nothing else is asked for", "[libtorch]") {
  const auto resumed = [](const RunState& then, const std::string& device = "auto", const std::string& engine = "auto",
                          std::int64_t threads = 0) {
    TrainerOptions asked;
    asked.device = device;
    asked.engine = engine;
    asked.threads = threads;
    const TrainerOptions options = options_to_resume(asked, then);
    return options.device + ", " + options.engine + ", " + std::to_string(options.threads);
  };
  RunState then;
  then.device = "cpu";
  then.engine = "libtorch";
  then.threads = 1;
  CHECK(resumed(then) == "cpu, libtorch, 1");
  CHECK(resumed(then, "auto", "cpu", 3) == "cpu, cpu, 3");
  CHECK(resumed(then, "cpu") == "cpu, libtorch, 1");
  then.threads = usable_processors() + 1;
  CHECK(resumed(then) == "cpu, libtorch, 0");
  then.engine = "cpu";  // auto chooses it
  CHECK(resumed(then) == "cpu, auto, 0");
  then.engine = "abacus";
  CHECK(resumed(then) == "cpu, auto, 0");
  then = {};
  then.device = "cuda:" + std::to_string(cuda_device_count());
  then.engine = "libtorch";
  CHECK(resumed(then) == "auto, auto, 0");
  CHECK(resumed(then, "cpu") == "cpu, auto, 0");
}
