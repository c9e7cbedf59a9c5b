#!/usr/bin/env bash
# Builds the torch-free rooms with AddressSanitizer and UndefinedBehaviorSanitizer in build/sanitize, and runs their quick tests; those of
# what works in a team of threads with ThreadSanitizer too, in build/sanitize_threads.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. scripts/setup.sh

# check FOLDER SANITIZERS TESTS [TARGET...]: TESTS is a pattern of names.
check() {
  local folder=build/$1 sanitizers=$2 tests=$3
  shift 3
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCHARGPT_TORCH=OFF -DCHARGPT_SANITIZE="$sanitizers" >/dev/null
  ninja -C "$folder" -j "$(build_jobs)" "$@"
  ctest --test-dir "$folder" -L quick -R "$tests" -j "$(nproc)" --output-on-failure
  sed -n 's/^skipped because .*/&, with sanitizers/p' "$folder/Testing/Temporary/LastTest.log"
}

export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
check sanitize address,undefined .
check sanitize_threads thread '^(kernels|inference)$' test_kernels test_inference
