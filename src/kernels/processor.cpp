#include "kernels/processor.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/error.h"
#include "base/memory.h"
#include "kernels/kernels.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_threads = 1024;

/// The numbers of the processors that this process may run on; all processors if the system does not provide the mask.
std::vector<int> affinity() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const bool told = sched_getaffinity(0, sizeof mask, &mask) == 0;
  const int there = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<int> processors;
  for (int cpu = 0; cpu < (told ? CPU_SETSIZE : there); ++cpu)
    if (!told || CPU_ISSET(cpu, &mask)) processors.push_back(cpu);
  return processors;
}

/// The smaller of `count` and the processors that the control groups grant, rounded up; at least 1.
std::int64_t within_quota(std::int64_t count) {
  const double granted = std::min(cgroup_limits().processors, static_cast<double>(count));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(granted + 0.999));
}

/// The floating-point control register of this thread: rounding, exceptions, denormals.
std::uint64_t float_control() {
#if defined(__x86_64__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#else
  return 0;
#endif
}

void set_float_control([[maybe_unused]] std::uint64_t control) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(control));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(control));
#endif
}

}  // namespace

std::int64_t physical_cores() {
  std::set<std::string> cores;  // threads of one core have the same list of siblings
  for (const int cpu : affinity()) {
    std::string siblings = "cpu" + std::to_string(cpu);  // stays if the system does not provide the list
    std::ifstream("/sys/devices/system/cpu/" + siblings + "/topology/thread_siblings_list") >> siblings;
    cores.insert(siblings);
  }
  return within_quota(std::ssize(cores));
}

std::int64_t usable_processors() {
  return within_quota(std::ssize(affinity()));
}

int thread_count(std::int64_t threads) {
  if (threads < 0 || threads > most_threads)
    throw Error(ExitCode::usage, "threads = ", threads, " is not between 0 (one per physical core) and ", most_threads);
  return static_cast<int>(threads == 0 ? physical_cores() : threads);
}

void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned flush_to_zero = 1U << 15, denormals_are_zero = 1U << 6;
  set_float_control(float_control() | flush_to_zero | denormals_are_zero);
#elif defined(__aarch64__)
  constexpr std::uint64_t flush_to_zero = 1U << 24;
  set_float_control(float_control() | flush_to_zero);
#endif
}

FlushedDenormals::FlushedDenormals() : before_(float_control()) {
  flush_denormals();
}

FlushedDenormals::~FlushedDenormals() {
  set_float_control(before_);
}

std::string settle_cpu_capability() {
#if defined(__x86_64__)
  constexpr const char* variable = "ATEN_CPU_CAPABILITY";
  const char* const word = std::getenv(variable);
  if (word == nullptr) return "";
  const std::string asked = word, setting = variable + (" = " + asked);
  const auto limit = cpu::named_instruction_set(asked);
  const cpu::InstructionSet widest = cpu::processor_instruction_set();
  if (!limit) {
    unsetenv(variable);
    return asked.empty() ? "" : setting + " is ignored; set it to avx512, avx2 or default";
  }
  if (*limit <= widest) return "";
  const std::string here = widest == cpu::InstructionSet::avx2 ? "avx2" : "default";
  setenv(variable, here.c_str(), 1);
  return setting + " is not supported by this processor; using " + here;
#else
  return "";
#endif
}

std::string kernels_capability() {
  if (cpu::instruction_set() == cpu::InstructionSet::avx512) return "AVX512";
  if (cpu::instruction_set() == cpu::InstructionSet::avx2) return "AVX2";
#if defined(__aarch64__)
  return "NEON";
#else
  return "DEFAULT";
#endif
}

}  // namespace chargpt
