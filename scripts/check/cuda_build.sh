#!/usr/bin/env bash
# Compiles everything against a CUDA build of LibTorch (one that is found, else a wheel fetched into build-cuda/libtorch; no CUDA toolkit
# needed) and runs the quick tests on its CPU side; where there is a GPU, the [cuda] ones too.
#   scripts/check/cuda_build.sh [VERSION]     fetches this torch (default: the pinned one, where none is found)
#   scripts/check/cuda_build.sh --build       compiles only
# Takes 6 GB of disk. LIBTORCH=FOLDER uses the CUDA build there.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/start.sh"
build=build-cuda
case ${1:-} in
  --build) only_build=yes version= ;;
  *) only_build= version=${1:-} ;;
esac

# True where FOLDER has a CUDA build of LibTorch.
is_cuda_build() { [ -e "$1/lib/libtorch_cuda.so" ]; }

need_build_packages
mkdir -p $build
fetched=$(pwd -P)/$build/libtorch
libtorch=${LIBTORCH:-$fetched/torch}
[ -n "$version" ] || is_cuda_build "$libtorch" || libtorch=$(find_libtorch 2>/dev/null)
if [ -n "$version" ] || ! is_cuda_build "$libtorch"; then
  CHARGPT_LIBTORCH_BUILD=cuda fetch_libtorch "$fetched" ${version:+"$version"}
  libtorch=$fetched/torch
  is_cuda_build "$libtorch" || fail "pip finds a CPU build of torch alone; set LIBTORCH to the folder of a CUDA build"
fi

configure $build "$libtorch"
begin=$SECONDS
ninja -C $build -j "$(build_jobs)" >&2 || fail "the build against a CUDA LibTorch stopped (above)"
say "built in $((SECONDS - begin)) s against $libtorch"
[ -z "$only_build" ] || exit 0
get_text || fail "the tests need the text; fetch it by hand to data/tinyshakespeare.txt"
ctest --test-dir $build -L quick -j "$(nproc)" --output-on-failure --stop-on-failure
[ ! -e /dev/nvidiactl ] || ctest --test-dir $build -L cuda --no-tests=error --output-on-failure
$build/chargpt --version
say "passed$([ -e /dev/nvidiactl ] || echo "; no GPU here: [cuda] cases skipped")"
