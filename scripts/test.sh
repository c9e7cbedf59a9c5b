#!/usr/bin/env bash
# Builds the program and runs every test: quick ones, checks of the sources, long ones. Ends at the first failure.
#   scripts/test.sh              everything but the soak tests; minutes
#   scripts/test.sh --quick      without the long ones either
#   scripts/test.sh --soak       the soak tests: hundreds of kills, every file operation failing once, long runs; half an hour
#   scripts/test.sh -R model     other arguments go to ctest
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

case ${1:-} in
  --quick) selection=(-LE "long|soak" "${@:2}") ;;
  --soak) selection=(-L soak "${@:2}") ;;
  *) selection=(-LE soak "$@") ;;
esac

want clang-format-14 clang-format-14
build
get_text || fail "the tests need the text; fetch it by hand to data/tinyshakespeare.txt"
ctest --test-dir build -j "$(nproc)" --output-on-failure --stop-on-failure "${selection[@]}" ||
  fail "a test failed (above); run it alone: scripts/test.sh -R NAME"
