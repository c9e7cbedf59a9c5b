#!/usr/bin/env bash
# Builds the torch-free rooms with AddressSanitizer and UndefinedBehaviorSanitizer in build/sanitize, and runs their quick tests.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. scripts/setup.sh
folder=build/sanitize
cmake -S . -B $folder -G Ninja -DCMAKE_BUILD_TYPE=Release -DCHARGPT_TORCH=OFF -DCHARGPT_SANITIZE=ON >/dev/null
ninja -C $folder -j "$(build_jobs)"
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
ctest --test-dir $folder -L quick -j "$(nproc)" --output-on-failure
sed -n 's/^skipped because .*/&, with sanitizers/p' $folder/Testing/Temporary/LastTest.log
