#include "engine/engine.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "engine/autograd_engine.h"
#include "engine/cpu_engine.h"

namespace chargpt {
namespace {

struct EngineType {
  std::string_view name;
  std::unique_ptr<Engine> (*make)(LanguageModel& model, ParameterArena& arena, const TrainConfig& train);
};

std::unique_ptr<Engine> autograd(LanguageModel& model, ParameterArena& arena, const TrainConfig& train) {
  return make_autograd_engine(model, arena, train);
}

/// The CPU engine, or autograd with a notice why.
std::unique_ptr<Engine> cpu_or_autograd(LanguageModel& model, ParameterArena& arena, const TrainConfig& train) {
  std::string why_not;
  if (auto engine = make_cpu_engine(model, arena, train, why_not)) return engine;
  return make_autograd_engine(model, arena, train,
                              "the cpu engine does not compute " + why_not + ": autograd does, more slowly");
}

/// Who did not ask for an engine need not hear that a teaching model has none of its own.
std::unique_ptr<Engine> best(LanguageModel& model, ParameterArena& arena, const TrainConfig& train) {
  const bool on_cpu = arena.groups().empty() || arena.groups().front().values.is_cpu();
  return on_cpu && model.config().type == "gpt" ? cpu_or_autograd(model, arena, train) : autograd(model, arena, train);
}

constexpr std::array engines{EngineType{"auto", best}, EngineType{"autograd", autograd},
                             EngineType{"cpu", cpu_or_autograd}, EngineType{"cuda", autograd}};

}  // namespace

bool is_engine(const std::string& name) {
  return std::ranges::any_of(engines, [&name](const EngineType& engine) { return engine.name == name; });
}

std::unique_ptr<Engine> make_engine(const std::string& name, LanguageModel& model, ParameterArena& arena,
                                    const TrainConfig& train) {
  std::string known;
  for (const EngineType& engine : engines) {
    if (engine.name == name) return engine.make(model, arena, train);
    known += (known.empty() ? "" : ", ") + std::string(engine.name);
  }
  throw Error(ExitCode::usage, "--engine " + name + " is unknown; there is: " + known);
}

}  // namespace chargpt
