#!/usr/bin/env bash
# Builds the program and runs every test: quick ones, checks of the sources, long ones. Ends at the first failure.
#   scripts/test.sh              everything; minutes
#   scripts/test.sh --quick      without the long ones
#   scripts/test.sh -R model     other arguments go to ctest
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

selection=("$@")
if [ "${1:-}" = --quick ]; then
  selection=(-LE long "${@:2}")
fi

want clang-format-14 clang-format-14
build
get_text || fail "the tests need the text; fetch it by hand to data/tinyshakespeare.txt"
ctest --test-dir build -j "$(nproc)" --output-on-failure --stop-on-failure "${selection[@]}" ||
  fail "a test failed (above); run it alone: scripts/test.sh -R NAME"
