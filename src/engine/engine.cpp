#include "engine/engine.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "engine/cpu_engine.h"
#include "engine/torch_module.h"

namespace chargpt {
namespace {

/// The option for which the CPU engine does not compute this; empty where it does.
std::string cpu_lacks(const ModelConfig& model, const TrainConfig& train, const std::string& device) {
  return device != "cpu" ? "--device " + device : cpu_engine_lacks(model, train);
}

}  // namespace

std::string chosen_engine(const std::string& name, const ModelConfig& model, const TrainConfig& train,
                          const std::string& device) {
  const std::vector<std::string> names{"auto", "cpu", "libtorch"};
  if (std::ranges::find(names, name) == names.end())
    throw Error(ExitCode::usage, "--engine ", name, " is unknown; there is: ", joined(names, ", "));
  if (name == "libtorch") return name;
  const std::string lacks = cpu_lacks(model, train, device);
  if (lacks.empty()) return "cpu";
  if (name == "cpu") throw Error(ExitCode::usage, "--engine cpu does not support ", lacks, "; use --engine libtorch");
  return "libtorch";
}

double token_weight(const GradientInput& input) {
  std::int64_t tokens = input.tokens;
  if (tokens == 0)
    for (const WindowBatch& windows : input.micro_batches) tokens += windows.counted();
  return 1.0 / static_cast<double>(tokens);
}

std::unique_ptr<Engine> make_engine(const std::string& name, const EngineRequest& request) {
  if (chosen_engine(name, request.model, request.train, request.device) == "cpu") return make_cpu_engine(request);
  const std::string needed =
      name == "libtorch" ? "--engine libtorch" : cpu_lacks(request.model, request.train, request.device);
  return torch_module(needed).make_engine(request);
}

}  // namespace chargpt
