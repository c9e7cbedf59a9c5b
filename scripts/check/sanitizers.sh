#!/usr/bin/env bash
# Every quick test that needs no LibTorch with AddressSanitizer and UndefinedBehaviorSanitizer, in build/sanitize, and those of teams of threads with
# ThreadSanitizer, in build/sanitize_threads; twenty minutes.
# By clang++ where it is there: a second compiler that the sources must please.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/start.sh"

compiler=$(command -v clang++-{14..20} clang++ | head -n 1 || true)
compiler=${compiler:-${CXX:-c++}}
"$compiler" --version | grep -q clang || echo "skipped because there is no clang++ here: a second compiler"

# configure FOLDER SANITIZERS
configure() {
  if ! grep -Eqs "^CMAKE_CXX_COMPILER:[A-Z]+=(.*/)?${compiler//+/\\+}$" "$1/CMakeCache.txt"; then rm -rf "$1"; fi  # of another compiler
  cmake -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" -DCHARGPT_TORCH=OFF -DCHARGPT_SANITIZE="$2" >/dev/null
}

# libarchive 3.6 does not free ten kilobytes of an archive that is given up (archive_write_fail).
mkdir -p build && echo leak:archive_write_client_open >build/leaks.txt
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1 LSAN_OPTIONS=suppressions=$PWD/build/leaks.txt
echo "skipped because sanitizers need the address space that is taken away: tests/kernels [limits] (1 cases)"
echo "skipped because they take minutes with sanitizers: tests/train [simulated] (2 cases)"

# check FOLDER SANITIZERS TESTS: TESTS is a pattern of names.
check() {
  configure "build/$1" "$2"
  ninja -C "build/$1" -j "$(build_jobs)" test_core test_corpus test_training
  ctest --test-dir "build/$1" -L quick -R "$3" -j "$(nproc)" --no-tests=error --output-on-failure
  sed -n 's/^skipped because .*/&, with sanitizers/p' "build/$1/Testing/Temporary/LastTest.log"
}

check sanitize address,undefined .
check sanitize_threads thread '^(kernels|network|predict|library)$'
build/sanitize_threads/tests/test_training '[threads]'
