#include "training/bench_kernels.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/print_json.h"
#include "engine/device.h"
#include "engine/matmul_speed.h"
#include "engine/operations.h"
#include "kernels/kernels.h"
#include "training/training.h"

namespace chargpt {
namespace {

constexpr long chunk_tokens = 128;       ///< of a thread's share of a step, about what the engine takes at once
constexpr std::int64_t vocab_size = 65;  ///< of tinyshakespeare

const char* name_of(MatmulRole role) {
  switch (role) {
    case MatmulRole::forward:
      return "forward";
    case MatmulRole::input_gradient:
      return "input gradient";
    case MatmulRole::weight_gradient:
      return "weight gradient";
  }
  return "";
}

nlohmann::ordered_json gflops(const std::optional<OperationRate>& rate) {
  if (!rate) return nullptr;
  return {{"median", rate->median / 1e9}, {"best", rate->best / 1e9}};
}

nlohmann::ordered_json to_json(const MatmulSpeed& speed, double peak) {
  const OperationRate none;
  const double rival = std::max(speed.sgemm.value_or(none).median, speed.brgemm.value_or(none).median);
  nlohmann::ordered_json json = {{"matmul", name_of(speed.shape.role)},
                                 {"M", speed.shape.M},
                                 {"N", speed.shape.N},
                                 {"K", speed.shape.K},
                                 {"gflops", gflops(speed.own)},
                                 {"brgemm_gflops", gflops(speed.brgemm)},
                                 {"sgemm_gflops", gflops(speed.sgemm)},
                                 {"fraction_of_peak", speed.own.median / peak},
                                 {"ratio_to_faster_library", nullptr}};
  if (rival > 0) json["ratio_to_faster_library"] = speed.own.median / rival;
  return json;
}

nlohmann::ordered_json measure(const std::vector<MatmulShape>& shapes, std::int64_t threads, std::int64_t rounds) {
  const std::int64_t used = set_threads(threads);
  const double before = measured_peak();
  const std::vector<MatmulSpeed> speeds = measure_matmuls(shapes, static_cast<int>(used), static_cast<int>(rounds));
  const double peak = std::max(before, measured_peak());
  nlohmann::ordered_json json = {{"threads", used}, {"peak_gflops", peak / 1e9}};
  for (const MatmulSpeed& speed : speeds) json["matmuls"].push_back(to_json(speed, peak));
  return json;
}

/// "104", or "none".
std::string figure_text(const char* format, const nlohmann::ordered_json& figure) {
  if (figure.is_null()) return "none";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, figure.get<double>());
  return text.data();
}

/// ATEN_CPU_CAPABILITY limits our kernels and LibTorch's own, but not MKL and oneDNN, which have variables of theirs.
bool compares_unlike() {
  return cpu::instruction_set() < cpu::processor_instruction_set() && std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr &&
         std::getenv("MKL_ENABLE_INSTRUCTIONS") == nullptr;
}

/// 80 columns wide.
void print(const nlohmann::ordered_json& json) {
  std::printf("%s: matmuls of a training step in GFLOP/s, kernels for %s\n", json["config"].get<std::string>().c_str(),
              json["kernels"].get<std::string>().c_str());
  if (json["libraries_unlimited"].get<bool>())
    std::printf(
        "brgemm and sgemm are not limited; to compare alike, set\n"
        "MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2\n");
  for (const auto& of : json["measurements"]) {
    const auto threads = of["threads"].get<long long>();
    std::printf("\n%lld thread%s; %.0f at the peak (multiply-adds in registers)\n", threads, threads == 1 ? "" : "s",
                of["peak_gflops"].get<double>());
    std::printf("%-16s%5s%5s%5s%9s%8s%8s%10s%12s\n", "", "M", "N", "K", "chargpt", "brgemm", "sgemm", "of peak",
                "to faster");
    for (const auto& m : of["matmuls"]) {
      std::printf("%-16s%5ld%5ld%5ld%9.0f", m["matmul"].get<std::string>().c_str(), m["M"].get<long>(),
                  m["N"].get<long>(), m["K"].get<long>(), m["gflops"]["median"].get<double>());
      for (const char* const library : {"brgemm_gflops", "sgemm_gflops"})
        std::printf("%8s", figure_text("%.0f", m[library].is_null() ? m[library] : m[library]["median"]).c_str());
      std::printf("%8.0f %%%12s\n", 100 * m["fraction_of_peak"].get<double>(),
                  figure_text("%.2f", m["ratio_to_faster_library"]).c_str());
    }
  }
}

}  // namespace

void add_kernel_bench_options(Options& options, KernelBenchArguments& arguments) {
  options.add("--rounds", arguments.rounds, "kernels: bursts of each matmul, to take the median of").range(1, 100000);
}

void run_bench_kernels(const KernelBenchArguments& arguments) {
  const ResolvedConfig config = load_config(arguments.preset, arguments.overrides);
  check_model(config);
  const ModelConfig& model = config.config.model;
  if (model.type != "gpt")
    throw Error(ExitCode::usage,
                "bench kernels measures the matmuls of a gpt, and " + config.config.name + " is of type " + model.type);
  const std::vector<MatmulShape> shapes = step_matmuls(model, vocab_size, chunk_tokens);
  nlohmann::ordered_json json = {
      {"config", config.config.name}, {"kernels", cpu::kernels().name}, {"libraries_unlimited", compares_unlike()}};
  const std::int64_t most = set_threads(arguments.threads);
  if (arguments.threads == 0 && most > 1) json["measurements"].push_back(measure(shapes, 1, arguments.rounds));
  json["measurements"].push_back(measure(shapes, most, arguments.rounds));
  if (arguments.output.json)
    print_json(json);
  else
    print(json);
}

}  // namespace chargpt
