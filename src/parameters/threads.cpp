#include "parameters/threads.h"

#include <exception>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace chargpt::cpu {

void on_threads(int threads, const std::function<void(int)>& body) {
  std::exception_ptr failure;
  std::mutex guard;
  const auto careful = [&](int thread) {
    try {
      body(thread);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
  // The runtime may give fewer threads than asked for.
  for (int thread = omp_get_thread_num(); thread < threads; thread += omp_get_num_threads()) careful(thread);
#else
  for (int thread = 0; thread < threads; ++thread) careful(thread);
#endif
  if (failure) std::rethrow_exception(failure);
}

}  // namespace chargpt::cpu
