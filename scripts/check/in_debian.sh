#!/usr/bin/env bash
# Runs a command in a clone of the last commit in an empty Debian, made by mmdebstrap and removed again: with its compilers and libraries. As root.
#   scripts/check/in_debian.sh trixie env without_libtorch=yes scripts/test.sh --quick     all that needs no LibTorch, by g++ of Debian 13
#   PACKAGES=clang scripts/check/in_debian.sh trixie env without_libtorch=yes CXX=clang++ scripts/test.sh --quick
# Without `without_libtorch=yes` it fetches a LibTorch. PACKAGES: to install beside those that building needs. 20 minutes on two cores.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/start.sh"
[ $# -ge 2 ] || fail "a suite of Debian and a command are needed"
need mmdebstrap mmdebstrap
suite=$1
shift
work=$(printf '%q ' "$@")
export work
mmdebstrap --quiet --variant=apt --include="ca-certificates,git,${PACKAGES:-python3}" --customize-hook='git clone -q . "$1/root/chargpt"' \
  --customize-hook='chroot "$1" env HOME=/root LANG=C.UTF-8 bash -c "cd /root/chargpt && $work"' "$suite" /dev/null || fail "it failed in $suite (above)"
say "passed in $suite: $*"
