#!/usr/bin/env bash
# Builds the program, build/chargpt, installing what is missing: packages (as root or through sudo) and LibTorch (privately, in .libtorch).
# Done again, it does only what has changed.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

build programs
echo "build/chargpt"
