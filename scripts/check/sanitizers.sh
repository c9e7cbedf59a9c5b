#!/usr/bin/env bash
# Runs the fuzzers' corpus with AddressSanitizer and UndefinedBehaviorSanitizer, in build/sanitize_corpus.
#   scripts/check/sanitizers.sh          the corpus alone: two minutes where nothing is built yet
#   scripts/check/sanitizers.sh --all    every quick test that needs no LibTorch, in build/sanitize, and with ThreadSanitizer, in build/sanitize_threads, those of
#                                        teams of threads; twenty minutes
# By clang++ where it is there: a second compiler that the sources must please.
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
"$compiler" --version | grep -q clang || echo "skipped because there is no clang++ here: a second compiler"

# configure FOLDER SANITIZERS [OPTION…]
configure() {
  if ! grep -Eqs "^CMAKE_CXX_COMPILER:[A-Z]+=(.*/)?${compiler//+/\\+}$" "$1/CMakeCache.txt"; then rm -rf "$1"; fi  # of another compiler
  cmake -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" -DCHARGPT_TORCH=OFF -DCHARGPT_SANITIZE="$2" "${@:3}" >/dev/null
}

export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
if [ "${1:-}" != --all ]; then
  # No reader computes with the kernels of these instruction sets, whose compilation would take half of the time.
  configure build/sanitize_corpus address,undefined -DCHARGPT_COMPILES_v3=OFF -DCHARGPT_COMPILES_v4=OFF -DCHARGPT_COMPILES_bf16=OFF
  ninja -C build/sanitize_corpus -j "$(build_jobs)" test_corpus
  exec build/sanitize_corpus/tests/test_corpus
fi

echo "skipped because sanitizers need the address space that is taken away: test_kernels [limits] (1 cases)"
echo "skipped because they take minutes with sanitizers: test_train [simulated] (2 cases)"

# check FOLDER SANITIZERS TESTS [TARGET...]: TESTS is a pattern of names.
check() {
  local folder=build/$1 sanitizers=$2 tests=$3
  shift 3
  configure "$folder" "$sanitizers"
  ninja -C "$folder" -j "$(build_jobs)" "$@"
  ctest --test-dir "$folder" -L quick -R "$tests" -j "$(nproc)" --no-tests=error --output-on-failure
  sed -n 's/^skipped because .*/&, with sanitizers/p' "$folder/Testing/Temporary/LastTest.log"
}

check sanitize address,undefined .
check sanitize_threads thread '^(kernels|inference|predict|library|optimizer)$' \
  test_kernels test_inference test_predict test_library test_optimizer test_train
build/sanitize_threads/tests/test_train '[threads]'
