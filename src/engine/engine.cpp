#include "engine/engine.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "engine/cpu_engine.h"
#include "engine/torch_module.h"

namespace chargpt {
namespace {

struct EngineName {
  std::string_view name, means;
};
constexpr std::array names{EngineName{"auto", "auto"}, EngineName{"cpu", "cpu"}, EngineName{"libtorch", "libtorch"},
                           EngineName{"autograd", "libtorch"}, EngineName{"cuda", "libtorch"}};
constexpr std::size_t offered = 3;  ///< of them; the others are those of before

}  // namespace

bool is_engine(const std::string& name) {
  return std::ranges::any_of(names, [&name](const EngineName& engine) { return engine.name == name; });
}

std::string engine_name(const std::string& name) {
  const auto found = std::ranges::find(names, name, &EngineName::name);
  return std::string(found != names.end() ? found->means : name);
}

std::string chosen_engine(const std::string& name, const ModelConfig& model, const TrainConfig& train,
                          const std::string& device) {
  if (!is_engine(name)) {
    std::string known;
    for (std::size_t i = 0; i < offered; ++i) known += (i > 0 ? ", " : "") + std::string(names[i].name);
    throw Error(ExitCode::usage, "--engine " + name + " is unknown; there is: " + known);
  }
  const std::string means = engine_name(name);
  if (means == "libtorch") return means;
  const std::string lacks = device != "cpu" ? "--device " + device : cpu_engine_lacks(model, train);
  if (lacks.empty()) return "cpu";
  if (means == "cpu")
    throw Error(ExitCode::usage, "--engine cpu does not compute " + lacks + "; use --engine libtorch");
  return "libtorch";
}

double token_weight(const GradientInput& input) {
  std::int64_t tokens = input.tokens;
  if (tokens == 0)
    for (const WindowBatch& windows : input.micro_batches) tokens += windows.counted();
  return 1.0 / static_cast<double>(tokens);
}

std::unique_ptr<Engine> make_engine(const std::string& name, const EngineRequest& request) {
  const std::string chosen = chosen_engine(name, request.model, request.train, request.device);
  if (chosen == "cpu") return make_cpu_engine(request);
  const std::string asked = engine_name(name) == "libtorch" ? "--engine libtorch" : "";
  const std::string needed =
      request.device != "cpu" ? "--device " + request.device : cpu_engine_lacks(request.model, request.train);
  return torch_module(asked.empty() ? needed : asked).make_engine(request);
}

}  // namespace chargpt
