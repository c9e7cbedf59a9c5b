#!/usr/bin/env bash
# Builds all rooms but those of LibTorch with AddressSanitizer and UndefinedBehaviorSanitizer in build/sanitize, and runs their quick tests, the
# trainer's among them; those of what works in a team of threads with ThreadSanitizer too, in build/sanitize_threads, of the trainer the cases
# that train with several threads. By clang++ where it is there: a second compiler that the sources must please.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. scripts/setup.sh

compiler=${CXX:-c++}
for clang in clang++-{14..20} clang++; do
  if command -v "$clang" >/dev/null; then
    compiler=$clang
    break
  fi
done
echo "skipped because sanitizers need the address space that is taken away: test_kernels [limits] (1 cases)"
echo "skipped because they take minutes with sanitizers: test_train [simulated] (2 cases)"
"$compiler" --version | grep -q clang || echo "skipped because there is no clang++ here: a second compiler"

# check FOLDER SANITIZERS TESTS [TARGET...]: TESTS is a pattern of names.
check() {
  local folder=build/$1 sanitizers=$2 tests=$3
  shift 3
  if ! grep -Eqs "^CMAKE_CXX_COMPILER:[A-Z]+=(.*/)?${compiler//+/\\+}$" "$folder/CMakeCache.txt"; then rm -rf "$folder"; fi  # of another compiler
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" -DCHARGPT_TORCH=OFF -DCHARGPT_SANITIZE="$sanitizers" >/dev/null
  ninja -C "$folder" -j "$(build_jobs)" "$@"
  ctest --test-dir "$folder" -L quick -R "$tests" -j "$(nproc)" --no-tests=error --output-on-failure
  sed -n 's/^skipped because .*/&, with sanitizers/p' "$folder/Testing/Temporary/LastTest.log"
}

export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
check sanitize address,undefined .
check sanitize_threads thread '^(kernels|inference|predict|library|optimizer)$' \
  test_kernels test_inference test_predict test_library test_optimizer test_train
build/sanitize_threads/tests/test_train '[threads]'
