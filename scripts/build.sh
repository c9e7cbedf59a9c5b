#!/usr/bin/env bash
# Builds the program, build/chargpt, installing what is missing: packages (as root or through sudo) and LibTorch (privately, in .libtorch).
# Done again, it does only what has changed.
#   scripts/build.sh --mpi                also what training by several processes takes: Open MPI, of the distribution
#   scripts/build.sh --without-libtorch   without LibTorch, which training on a GPU needs
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

case ${1:-} in
  --mpi)
    need libopenmpi-dev '*/openmpi/mpi.h' openmpi-bin mpirun
    with_mpi=yes ;;
  --without-libtorch) without_libtorch=yes ;;
  "") ;;
  *) fail "unknown argument $1; there are --mpi and --without-libtorch" ;;
esac
build chargpt
[ -z "${with_mpi:-}" ] || knows_mpi build || fail "CMake found no MPI (cmake -S . -B build says why)"
echo "build/chargpt"
