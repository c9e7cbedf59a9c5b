#!/usr/bin/env bash
# Compiles everything against a CUDA build of LibTorch (one that is found, else a wheel installed into build-cuda/libtorch; no CUDA toolkit
# needed) and runs the quick tests on its CPU side; where there is a GPU, the [cuda] ones too. Says at the end what it skipped.
#   scripts/check/cuda_build.sh [VERSION]     which torch to fetch (default: the pinned one, else the oldest supported that pip finds)
#   scripts/check/cuda_build.sh --build       compiles only
# Takes 6 GB of disk. LIBTORCH=FOLDER uses the CUDA build there.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. scripts/setup.sh
build=build-cuda
only_build=
if [ "${1:-}" = --build ]; then
  only_build=yes
  shift
fi

# fetch_cuda_libtorch VERSION…: the first of these versions of which pip finds a CUDA build, into build-cuda/libtorch by one rename.
fetch_cuda_libtorch() {
  local version incoming=$build/libtorch.incoming
  export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
  for version in "$@"; do
    rm -rf $incoming
    say "fetching torch $version"
    # === does not take 2.13.0+cpu for 2.13.0, where pip is set up to look among CPU builds too.
    python3 -m pip install --quiet --target $incoming "torch===$version" >&2 || continue
    is_cuda_build $incoming/torch || { say "torch $version is a CPU build here"; continue; }
    rm -rf $build/libtorch
    mv $incoming $build/libtorch
    return
  done
  rm -rf $incoming
  fail "pip found no CUDA build of torch $*; set LIBTORCH to the folder of one"
}

need_build_packages
mkdir -p $build
fetched=$(pwd -P)/$build/libtorch/torch
libtorch=${LIBTORCH:-$fetched}
[ $# -gt 0 ] || is_cuda_build "$libtorch" || libtorch=$(find_libtorch 2>/dev/null)
if ! is_cuda_build "$libtorch"; then
  [ -z "${LIBTORCH:-}" ] || fail "LIBTORCH=$LIBTORCH holds no CUDA build (lib/libtorch_cuda.so)"
  [ -z "$libtorch" ] || say "the LibTorch in $libtorch is a CPU build"
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip ca-certificates
  if [ $# -gt 0 ]; then fetch_cuda_libtorch "$1"; else fetch_cuda_libtorch $torch_version 2.12.0 2.11.0; fi
  libtorch=$fetched
fi

configure $build "$libtorch"
begin=$SECONDS
ninja -C $build -j "$(build_jobs)" >&2 || fail "the build against a CUDA LibTorch stopped (above)"
built=$((SECONDS - begin))
if [ -n "$only_build" ]; then
  echo "= in $built s against $libtorch"
  exit 0
fi
get_text || fail "the tests need the text; fetch it by hand to data/tinyshakespeare.txt"
ctest --test-dir $build -L quick -j "$(nproc)" --output-on-failure --stop-on-failure

gpu="no GPU here: [cuda] cases skipped"
if [ -e /dev/nvidiactl ]; then
  ctest --test-dir $build -L cuda --no-tests=error --output-on-failure
  gpu="[cuda] cases run on $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)"
fi
$build/chargpt --version
echo "cuda_build.sh: passed; built in $built s against $(cat "$libtorch/version.py" 2>/dev/null | sed -n "s/^__version__ = '\(.*\)'/torch \1/p"); quick tests on its CPU side; $gpu; long tests skipped"
