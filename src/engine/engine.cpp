#include "engine/engine.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/random.h"
#include "engine/cpu_engine.h"
#include "engine/torch_module.h"
#include "kernels/bf16.h"

namespace chargpt {

std::string chosen_engine(const std::string& name, Dtype dtype, const std::string& device) {
  const std::vector<std::string> names{"auto", "cpu", "libtorch"};
  if (std::ranges::find(names, name) == names.end())
    throw Error(ExitCode::usage, "--engine ", name, " is unknown; use one of: ", joined(names, ", "));
  if (name == "cpu" && device != "cpu")
    throw Error(ExitCode::usage, "--engine cpu does not support --device ", device, "; use --engine libtorch");
  if (name == "cpu" && dtype == Dtype::bfloat16 && cpu::bf16_kernels() == nullptr)
    throw Error(ExitCode::unavailable, "--engine cpu: train.dtype = bfloat16 ", lacks_bf16,
                "; use float32, or --engine libtorch");
  return name == "libtorch" || device != "cpu" ? "libtorch" : "cpu";
}

std::uint64_t dropout_seed(const GradientInput& input, std::size_t i) {
  return derive_seed(input.seed, Purpose::dropout, static_cast<std::uint64_t>(input.step),
                     static_cast<std::uint32_t>(i));
}

void Engine::score(const WindowBatch& windows, std::span<float> losses) {
  const int threads = cpu::threads_in_force();
  if (!team_ || team_->threads() != threads) {
    scoring_plan_ = plan_in(arena_, request_.model, request_.vocab_size, request_.train, cpu::Packing::forward);
    team_ = std::make_unique<cpu::ForwardTeam>(scoring_plan_, arena_.values.data(), threads);
  }
  team_->score(windows, losses.data(), /*logits=*/nullptr);
}

std::unique_ptr<Engine> make_engine(const std::string& name, const EngineRequest& request) {
  if (chosen_engine(name, request.train.dtype, request.device) == "cpu") return make_cpu_engine(request);
  return torch_module(name == "libtorch" ? "--engine libtorch" : "--device " + request.device).make_engine(request);
}

}  // namespace chargpt
