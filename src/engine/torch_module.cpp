#include "engine/torch_module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace chargpt {
namespace {

const TorchModule* in_use = nullptr;

fs::path module_path() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed).parent_path() / "chargpt-torch.so";
}

/// By default LibTorch's OpenMP threads spin for milliseconds after each parallel operation and take the processors
/// from the threads that do the rest of a step. Limits this to some tens of microseconds, unless the user configured
/// it. The OpenMP library reads the setting when it is loaded.
void set_environment() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "3000", /*overwrite=*/0);
}

/// True if the loader's message is that it could not map a library.
bool is_lack_of_memory(const std::string& said) {
  return said.find("cannot map") != std::string::npos || said.find("failed to map") != std::string::npos ||
         said.find("annot allocate memory") != std::string::npos;
}

const TorchModule& loaded(const std::string& what) {
  const fs::path path = module_path();
  const auto unavailable = [&](const std::string& reason, const std::string& remedy) {
    return Error(ExitCode::unavailable, what, " needs LibTorch, but ", path.string(), ", chargpt's LibTorch plug-in, ",
                 reason, "; ", remedy);
  };
  if (!is_there(path) && std::string_view(CHARGPT_LIBTORCH_VERSION) == "none")
    throw Error(ExitCode::unavailable, what, " needs LibTorch, but this chargpt was built without it; build it from ",
                "its sources (scripts/build.sh)");
  if (!is_there(path)) throw unavailable("does not exist", "build it (scripts/build.sh) or copy it there");
  set_environment();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string said = ::dlerror();
    if (is_lack_of_memory(said))
      throw Error(ExitCode::memory, "out of memory: LibTorch, which ", what,
                  " needs, takes about 0.5 GB of address space; raise the limit (ulimit -v)");
    if (said.find("undefined symbol") != std::string::npos)
      throw unavailable("was built with LibTorch " CHARGPT_LIBTORCH_VERSION ", but found an incompatible version",
                        "rebuild it (scripts/build.sh), or correct LD_LIBRARY_PATH");
    throw unavailable("cannot be loaded: " + said, "rebuild it (scripts/build.sh), or correct LD_LIBRARY_PATH");
  }
  const auto get = reinterpret_cast<GetTorchModule*>(::dlsym(library, get_torch_module_name));
  if (get == nullptr) throw unavailable("belongs to another build", "rebuild it (scripts/build.sh)");
  return *get();
}

}  // namespace

bool has_torch_module() {
  return in_use != nullptr || is_there(module_path());
}

std::string libtorch_version() {
  return has_torch_module() ? CHARGPT_LIBTORCH_VERSION : "none";
}

const TorchModule& torch_module(const std::string& what) {
  if (in_use == nullptr) in_use = &loaded(what);
  return *in_use;
}

void use_torch_module(const TorchModule& module) {
  in_use = &module;
}

}  // namespace chargpt
