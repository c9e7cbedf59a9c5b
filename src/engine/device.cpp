#include "engine/device.h"

#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "engine/torch_module.h"
#include "kernels/thread_team.h"

namespace chargpt {
namespace {

/// The N of "cuda:N"; 0 for "cuda"; -1 for anything else.
std::int64_t cuda_index(const std::string& name) {
  if (name == "cuda") return 0;
  if (name.rfind("cuda:", 0) != 0) return -1;
  return parsed_number<std::int64_t>(std::string_view(name).substr(5)).value_or(-1);
}

}  // namespace

bool may_have_gpu() {
  return is_there("/dev/nvidiactl") || is_there("/dev/dxg");
}

std::int64_t cuda_device_count() {
  return has_torch_module() && may_have_gpu() ? torch_module("a GPU").cuda_devices() : 0;
}

std::string choose_device(const std::string& name, const std::string& engine) {
  if (name == "cpu" || (name == "auto" && engine == "cpu")) return "cpu";
  if (name == "auto") return cuda_device_count() > 0 ? "cuda:0" : "cpu";
  const std::int64_t index = cuda_index(name);
  if (index < 0) throw Error(ExitCode::usage, "--device " + name + ": not a device; use auto, cpu, cuda or cuda:N");
  // LibTorch itself is asked: a named GPU may work where its driver has no device file (a Jetson, some containers).
  const TorchModule& torch = torch_module("--device " + name);
  const std::int64_t count = torch.cuda_devices();
  if (index < count) return "cuda:" + std::to_string(index);
  if (count > 0)
    throw Error(ExitCode::unavailable, "--device ", name, ": no such device; the last one is cuda:", count - 1);
  throw Error(ExitCode::unavailable, "--device ", name, ": ", torch.why_no_cuda(), "; use --device cpu or auto");
}

bool is_device_here(const std::string& name) {
  return name == "cpu" || name == "auto" || (cuda_index(name) >= 0 && cuda_index(name) < cuda_device_count());
}

std::int64_t set_threads(std::int64_t threads) {
  flush_denormals();
  cpu::set_threads_in_force(thread_count(threads));
  return cpu::threads_in_force();
}

}  // namespace chargpt
