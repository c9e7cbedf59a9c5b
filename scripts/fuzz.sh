#!/usr/bin/env bash
# Fuzzes the readers of foreign files for so many minutes in all (default 7), a target after the other, with clang's libFuzzer, AddressSanitizer
# and UndefinedBehaviorSanitizer, in build/fuzz; prints executions and findings. What it finds lies in build/fuzz/found and, once understood,
# belongs into tests/fuzz/corpus. Ends non-zero where something was found.
#   scripts/fuzz.sh [MINUTES] [TARGET…]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
minutes=${1:-7}
shift || true
targets=("$@")
[ $# -gt 0 ] || targets=(safetensors state vocabulary config metrics exchange text)

for clang in clang++ clang++-{20..14}; do
  command -v "$clang" >/dev/null && break
done
command -v "$clang" >/dev/null || { echo "fuzz: error: there is no clang++; on Debian: apt-get install clang-14" >&2; exit 69; }
folder=build/fuzz
cmake -S . -B $folder -G Ninja -DCMAKE_CXX_COMPILER="$clang" -DCHARGPT_FUZZ=ON -DCHARGPT_TORCH=OFF >/dev/null
ninja -C $folder "${targets[@]/#/fuzz_}" >$folder/build.log || { cat $folder/build.log; exit 1; }

seconds=$(awk "BEGIN { seconds = int($minutes * 60 / ${#targets[@]} + 0.5); print (seconds > 0 ? seconds : 1) }")  # libFuzzer takes 0 for no limit
failures=0
for target in "${targets[@]}"; do
  corpus=$folder/corpus/$target found=$folder/found/$target
  program=$folder/tests/fuzz/fuzz_$target
  mkdir -p "$corpus" "$found"
  if ! "$program" "$corpus" "tests/fuzz/corpus/$target" -max_total_time="$seconds" -max_len=16384 \
    -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/" >"$folder/$target.log" 2>&1; then
    failures=$((failures + 1))
    echo "fuzz $target: FOUND something, see $folder/$target.log" >&2
  fi
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$target.log")
  echo "fuzz $target: $seconds s, ${executions:-0} executions, $(find "$corpus" -type f | wc -l) inputs kept"
done
echo "fuzz: $failures of ${#targets[@]} targets found something"
exit $((failures > 0))
