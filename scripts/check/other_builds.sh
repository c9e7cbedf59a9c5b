#!/usr/bin/env bash
# Compiles the half without LibTorch with other compilers and other libraries than scripts/test.sh uses, and runs its quick tests:
#   clang++-14 of Debian 12, with the standard library of GCC 12 and Debian 12's libraries
#   g++ and clang++ of Debian 13, with Debian 13's libraries: in an empty Debian 13 (debootstrap, minbase) of this machine's apt sources
#   scripts/check/other_builds.sh [FOLDER]     FOLDER: where all of it lies (default: build-others); 3 GB; what is there is used again
#   LIBTORCH=FOLDER scripts/check/other_builds.sh     also compiles everything against that LibTorch in the Debian 13, and trains 20 steps
# Needs root (chroot and mounts) and debootstrap; nothing outside FOLDER is changed but clang++-14, installed where it is missing. 20 minutes on
# two cores, and the half with LibTorch 20 more.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. scripts/setup.sh
suite=trixie

[ "$(id -u)" -eq 0 ] || fail "run as root: it makes a root of its own and mounts into it"
need debootstrap debootstrap clang-14 clang++-14
need_build_packages
# A mount namespace of its own: whatever ends this script, its mounts end with it.
[ -n "${CHARGPT_OTHER_MOUNTS:-}" ] || CHARGPT_OTHER_MOUNTS=private exec unshare --mount --propagation private scripts/check/other_builds.sh "$@"
mkdir -p "${1:-build-others}"
work=$(cd "${1:-build-others}" && pwd -P)
checkout=$(pwd -P)
root=$work/$suite
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache}

# Where this machine gets Debian from.
mirror() { apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT)' "Created-By: Packages" | awk '$2 == "Debian" && $3 == "main" {print $1; exit}'; }

# The empty Debian 13 with what building takes, in $root: whole or not at all.
make_root() {
  [ ! -e "$root" ] || return 0
  local incoming=$work/incoming file url
  url=$(mirror)
  [ -n "$url" ] || fail "the apt sources of this machine have no Debian"
  rm -rf "$incoming"
  say "installing $suite from where this machine gets its packages"
  http_proxy=${http_proxy:-$(apt-config shell value Acquire::http::Proxy | sed -n "s/^value='\(.*\)'$/\1/p")} \
    debootstrap --variant=minbase $suite "$incoming" "$url" >"$work/debootstrap.log" 2>&1 ||
    fail "debootstrap stopped: $work/debootstrap.log"
  for file in /etc/resolv.conf /etc/hosts /etc/apt/apt.conf /etc/apt/apt.conf.d /usr/local/share/ca-certificates; do
    [ ! -e $file ] || { rm -rf "${incoming:?}$file" && cp -aLT $file "$incoming$file"; }
  done
  in_root "$incoming" bash -c 'apt-get -qq update && apt-get -qq install -y --no-install-recommends g++ clang cmake ninja-build ccache git python3 \
    libcli11-dev libspdlog-dev nlohmann-json3-dev catch2 zlib1g-dev liblzma-dev libarchive-dev libbz2-dev' >"$work/packages.log" 2>&1 ||
    fail "packages for $suite could not be installed: $work/packages.log"
  mv "$incoming" "$root"
}

# in_root ROOT command…: in ROOT, with nothing of this machine's environment but proxies.
in_root() {
  chroot "$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    CCACHE_DIR=/ccache ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "${@:2}"
}

# attach FOLDER PLACE: binds a folder of this machine into the root.
attach() {
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
}

# build_and_test NAME COMPILER prefix…: the half without LibTorch in a build folder NAME; the prefix enters the root, or nothing. The checkout
# and the build folders have the same paths inside and outside.
build_and_test() {
  local name=$1 compiler=$2 folder=$work/$1
  shift 2
  say "$name"
  "$@" cmake -S "$checkout" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCHARGPT_TORCH=OFF >"$work/$name.log" 2>&1 ||
    { tail -n 20 "$work/$name.log" >&2; fail "CMake stopped: $name"; }
  "$@" ninja -C "$folder" -j "$(build_jobs)" >>"$work/$name.log" 2>&1 || { grep -A8 -E 'error:|FAILED' "$work/$name.log" | head -n 60 >&2; fail "the build stopped: $name, $work/$name.log"; }
  "$@" ctest --test-dir "$folder" -L quick -j "$(nproc)" --output-on-failure | tee -a "$work/$name.log" | sed -n '/tests passed\|FAILED\|\*\*\*/p'
  sample "$folder/chargpt" "$@"
}

# sample PROGRAM prefix…: what the run of tests/fixtures writes, on any x86-64 the same.
sample() {
  local program=$1
  shift
  rm -rf "$work/fixture"
  cp -r tests/fixtures "$work/fixture"
  "$@" env ATEN_CPU_CAPABILITY=default "$program" sample "$work/fixture/run" --seed 5 --tokens 60 --threads 1 --quiet >"$work/sample.txt"
  python3 -c 'import json, sys; sys.exit(open(sys.argv[1]).read() != json.load(open("tests/fixtures/expected.json"))["sample"])' "$work/sample.txt" ||
    fail "$program writes another sample than tests/fixtures/expected.json has"
}

# All of it against LIBTORCH, and a short training.
build_with_torch() {
  local folder=$work/$suite-torch torch
  torch=$(cd "$LIBTORCH" && pwd -P)
  say "$suite, with LibTorch"
  attach "$(dirname "$torch")" "$(dirname "$torch")"
  in_root "$root" bash -c "cmake -S '$checkout' -B '$folder' -G Ninja -DLibTorch_ROOT:PATH='$torch' && ninja -C '$folder' -j $(build_jobs)" >"$folder.log" 2>&1 ||
    { grep -A8 -E 'error:|FAILED' "$folder.log" | head -n 60 >&2; fail "the build against LibTorch stopped: $folder.log"; }
  rm -rf "$work/run"
  in_root "$root" "$folder/chargpt" train --text "$checkout/data/sample.txt" --max_iters 20 --run "$work/run"
}

make_root
mount -t proc proc "$root/proc"
for folder in /dev /dev/pts /sys; do attach $folder $folder; done
mkdir -p "$CCACHE_DIR"
attach "$CCACHE_DIR" /ccache
attach "$checkout" "$checkout"
mountpoint -q "$root$work" || attach "$work" "$work"

in_root "$root" bash -c 'g++ --version | head -n 1; clang++ --version | head -n 1; dpkg-query -W libcli11-dev libspdlog-dev nlohmann-json3-dev catch2'
build_and_test clang-14 clang++-14
build_and_test $suite-gcc g++ in_root "$root"
build_and_test $suite-clang clang++ in_root "$root"
[ -z "${LIBTORCH:-}" ] || build_with_torch
say "passed"
