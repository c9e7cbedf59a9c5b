// One piece of work for each thread, at the same time. LibTorch's at::parallel_for is a template that runs serially
// wherever it is compiled without OpenMP, as our code is; this is the one file that is compiled with it. Knows no work.
#pragma once

#include <functional>

namespace chargpt::cpu {

/// body(0) to body(threads - 1), each on a thread of LibTorch's own OpenMP runtime, and returns when all have. Rethrows
/// the first exception.
void on_threads(int threads, const std::function<void(int)>& body);

}  // namespace chargpt::cpu
