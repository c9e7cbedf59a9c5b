// Which exception is which exit code: all that can reach main, whoever threw it.
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/failure.h"

#include "test.h"

using namespace chargpt;

namespace {

ExitCode code_of(const std::exception& error) {
  return failure_of(error).code();
}

/// As LibTorch words its own: the message, and where it was raised.
std::runtime_error torch_error(const std::string& message) {
  return std::runtime_error(message + "\nException raised from f at file.cpp:1 (most recent call first):");
}

}  // namespace

TEST_CASE("an Error says itself what it is") {
  const Error failure = failure_of(Error(ExitCode::data, "this text is out of memory, it says"));
  CHECK(failure.code() == ExitCode::data);
  CHECK(failure.what() == std::string("this text is out of memory, it says"));
}

TEST_CASE("lack of memory on the host is 81, whoever ran out of it") {
  CHECK(code_of(std::bad_alloc()) == ExitCode::memory);
  CHECK(code_of(std::bad_array_new_length()) == ExitCode::memory);
  CHECK(code_of(std::system_error(std::make_error_code(std::errc::not_enough_memory))) == ExitCode::memory);
  CHECK(code_of(std::filesystem::filesystem_error("cannot list", std::make_error_code(std::errc::not_enough_memory))) ==
        ExitCode::memory);
  const Error failure = failure_of(
      torch_error("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                  "you tried to allocate 4398046511104 bytes. Error code 12 (Cannot allocate memory)"));
  CHECK(failure.code() == ExitCode::memory);
  CHECK(std::string_view(failure.what()).starts_with("out of host memory; free some, "));
}

TEST_CASE("lack of memory on a CUDA device is 81, in the words of the allocator, the runtime and its libraries") {
  // Messages of LibTorch 2.13: c10/cuda/CUDACachingAllocator.cpp, CUDAException.cpp, ATen/cuda/CUDABlas.cpp, cudnn.
  const std::string allocator =
      "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 1.50 GiB is "
      "free. Process 42 has 138.30 GiB memory in use.";
  const Error failure = failure_of(torch_error(allocator));
  CHECK(failure.code() == ExitCode::memory);
  CHECK(std::string_view(failure.what()).starts_with("out of device memory; lower model.block_size, "));
  for (const char* message :
       {"CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in the CUDA documentation",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "CUDA driver error: out of memory"})
    CHECK(std::string_view(failure_of(torch_error(message)).what()).starts_with("out of device memory; "));
}

TEST_CASE("a GPU that this LibTorch has no code for, or that others have taken, is 69") {
  for (const char* message : {"CUDA error: no kernel image is available for execution on the device",
                              "CUDA error: CUDA-capable device(s) is/are busy or unavailable"}) {
    const Error failure = failure_of(torch_error(std::string(message) + "\nCUDA kernel errors might be"));
    CHECK(failure.code() == ExitCode::unavailable);
    CHECK(failure.what() == std::string("this GPU cannot be used: ") + message +
                                "; use --device cpu or another cuda:N, or build against another LibTorch");
  }
}

TEST_CASE("other failures of a device are bugs, not lack of memory") {
  for (const char* message : {"CUDA error: an illegal memory access was encountered", "CUDA error: device-side assert",
                              "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"}) {
    const Error failure = failure_of(torch_error(message));
    CHECK(failure.code() == ExitCode::internal);
    CHECK(std::string_view(failure.what())
              .starts_with(std::string("internal: ") + message + "; this is a bug in chargpt"));
  }
}

TEST_CASE("what the system refuses is 74, the rest is a bug of ours, in one line") {
  CHECK(code_of(std::filesystem::filesystem_error("cannot list", "run", std::make_error_code(std::errc::io_error))) ==
        ExitCode::io);
  const Error failure = failure_of(std::logic_error("two\nlines"));
  CHECK(failure.code() == ExitCode::internal);
  CHECK(std::string_view(failure.what()).starts_with("internal: two; this is a bug in chargpt"));
}
