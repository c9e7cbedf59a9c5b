#!/usr/bin/env bash
# Builds the program and runs every test: quick ones, checks of the sources, long ones. Ends at the first failure.
#   scripts/test.sh              everything but the soak tests; minutes
#   scripts/test.sh --quick      without the long ones either
#   scripts/test.sh --soak       the soak tests: hundreds of kills, every file operation failing once, long runs; half an hour
#   scripts/test.sh --sanitizers the quick tests with sanitizers; twenty minutes
#   scripts/test.sh -R model     other arguments go to ctest
# What cannot run here (without the text, a GPU, root, …) is left out, counted and named with its reason at the end.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

case ${1:-} in
  --quick) selection=(-LE "long|soak" "${@:2}") ;;
  --soak) selection=(-L soak "${@:2}") ;;
  --sanitizers)
    need_build_packages
    want clang++-14 clang-14 libclang-rt-14-dev
    bash scripts/check/sanitizers.sh || fail "a test failed with sanitizers (above)"
    say "passed"
    exit ;;
  *) selection=(-LE soak "$@") ;;
esac

# "12 cases skipped: REASON" for each reason, from the lines "skipped because REASON: NAME" or "…: NAME (12 cases)" of all tests.
report_skipped() {
  sed -n 's/^skipped because //p' build/Testing/Temporary/LastTest.log | sort -u | awk '{
    reason = $0
    sub(/: .*/, "", reason)
    count = 1
    if (match($0, /\([0-9]+ cases\)$/)) count = substr($0, RSTART + 1) + 0
    counts[reason] += count
  } END {
    for (reason in counts) printf "%d %s skipped: %s\n", counts[reason], counts[reason] == 1 ? "case" : "cases", reason
  }' | sort -k4 | while IFS= read -r line; do say "$line"; done
}

want clang-format-14 clang-format-14
build
if ! get_text; then
  [ ! -e data/tinyshakespeare.txt ] || fail "a text that the tests do not know lies at data/tinyshakespeare.txt (above)"
  say "going on without tinyshakespeare: the tests that need it are skipped, the others use data/sample.txt"
fi
ctest --test-dir build -j "$(nproc)" --no-tests=error --output-on-failure --stop-on-failure "${selection[@]}" ||
  fail "a test failed (above); run it alone: scripts/test.sh -R NAME"
report_skipped
say "passed"
