// `chargpt doctor [DIR]`: what this machine offers, what is wrong, and the fix.
#include <spdlog/fmt/fmt.h>
#include <sys/statvfs.h>

#include <string>
#include <thread>

#include "base/error.h"
#include "base/memory.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/process.h"
#include "engine/device.h"
#include "engine/torch_module.h"
#include "evaluate/compression.h"
#include "kernels/bf16.h"
#include "kernels/kernels.h"
#include "kernels/processor.h"
#include "report/format.h"
#include "report/report.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

std::int64_t free_disk_bytes() {
  struct statvfs disk {};
  return statvfs(".", &disk) == 0 ? static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize) : 0;
}

/// Why a GPU of this machine cannot be used; empty if it can or there is none.
std::string problem_of_gpu() {
  if (!may_have_gpu()) return "";
  try {
    const TorchModule& torch = torch_module("training on a GPU");
    return torch.cuda_devices() == 0 ? "a GPU, if there is one, is not used: " + torch.why_no_cuda() : "";
  } catch (const Error& error) {
    return error.what();
  }
}

Json findings(std::int64_t threads, const std::string& folder) {
  Json advice = Json::array();
  if (!folder.empty())
    for (const std::string& lack : lacks_for_sharing(folder)) advice.push_back(folder + ": " + lack);
  if (const std::string problem = problem_of_gpu(); !problem.empty()) advice.push_back(problem);
  if (threads > static_cast<std::int64_t>(std::thread::hardware_concurrency()))
    advice.push_back("more threads than processors make training slower: leave --threads out");
  if (cpu::instruction_set() < cpu::processor_instruction_set())
    advice.push_back("ATEN_CPU_CAPABILITY disables instructions this processor has; unset it to train faster");
  return advice;
}

struct Arguments {
  OutputArguments output;
  DeviceArguments device;
  std::string folder;
};

Report run_doctor(const Arguments& arguments) {
  const std::int64_t threads = set_threads(arguments.device.threads);
  const std::string chosen = choose_device(arguments.device.device);
  const bool bfloat16 = cpu::bf16_kernels() != nullptr;
  Report report(Json{{"chargpt", program_version()},
                     {"libtorch", libtorch_version()},
                     {"device", chosen},
                     {"processors", std::thread::hardware_concurrency()},
                     {"threads", threads},
                     {"cpu_capability", kernels_capability()},
                     {"kernels", cpu::kernels().name},
                     {"bfloat16", bfloat16},
                     {"memory", physical_memory()},
                     {"disk_free", free_disk_bytes()},
                     {"advice", findings(threads, arguments.folder)}});
  std::string text = fmt::format(
      "{}kernels {}, {} bfloat16\ndevice {} (auto takes a CUDA device if LibTorch finds one)\n"
      "{} on {}\nmemory {}; disk free here {}\n",
      version_text(), cpu::kernels().name, bfloat16 ? "with" : "without", chosen, format_count(threads, "thread"),
      format_count(std::thread::hardware_concurrency(), "processor"), format_bytes(physical_memory()),
      format_bytes(free_disk_bytes()));
  if (!arguments.folder.empty()) text += "locks and hard links tested in " + arguments.folder + "\n";
  for (const Json& line : report.json["advice"]) text += "advice: " + line.get<std::string>() + "\n";
  report.say(text + (report.json["advice"].empty() ? "no problems found\n" : ""));
  return report;
}

}  // namespace

void add_doctor(Options& options) {
  Arguments& arguments = arguments_for(options, run_doctor);
  options.add("DIR", arguments.folder, "folder whose locks and hard links to test, from two processes");
  add_device_arguments(options, arguments.device);
}

}  // namespace chargpt
