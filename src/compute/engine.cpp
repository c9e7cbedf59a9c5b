#include "compute/engine.h"

#include <array>

#include "base/error.h"
#include "compute/autograd_engine.h"
#include "compute/optimizer.h"

namespace chargpt {
namespace {

struct EngineType {
  std::string_view name;
  std::unique_ptr<Engine> (*make)(LanguageModel& model, ParameterArena& arena, const TrainConfig& train);
};
constexpr std::array engines{EngineType{"autograd", make_autograd_engine}};

}  // namespace

std::unique_ptr<Engine> make_engine(const std::string& name, LanguageModel& model, ParameterArena& arena,
                                    const TrainConfig& train) {
  check_update_rules(arena);
  const std::string_view chosen = name == "auto" ? engines.front().name : std::string_view(name);
  std::string known = "auto";
  for (const EngineType& engine : engines) {
    if (engine.name == chosen) return engine.make(model, arena, train);
    known += ", " + std::string(engine.name);
  }
  throw Error(ExitCode::usage, "--engine " + name + " is unknown; there is: " + known);
}

}  // namespace chargpt
