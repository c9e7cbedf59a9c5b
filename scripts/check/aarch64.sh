#!/usr/bin/env bash
# Compiles the half without LibTorch for aarch64 and runs its quick tests there, emulated; then has the run of tests/fixtures scored and
# sampled, and compares with what an x86-64 made of it. The half with LibTorch is not built: no LibTorch for aarch64 is at hand.
#   scripts/check/aarch64.sh [FOLDER]     FOLDER: where it builds (default: build-aarch64)
# Needs Debian's cross compiler and qemu-user, which it installs as root or through sudo. Libraries for aarch64 are unpacked into
# FOLDER/root by apt-get with lists of its own: this machine's architectures and packages stay as they are. 15 minutes on two cores.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/start.sh"
mkdir -p "${1:-build-aarch64}"
build=$(cd "${1:-build-aarch64}" && pwd -P)
root=$build/root

# Scores and samples the run of tests/fixtures. Kernels of other instruction sets round otherwise, so the loss is only nearly the same.
compare_with_x86() {
  rm -rf "$build/fixture"
  mkdir "$build/fixture"
  cp -r tests/fixtures/run tests/fixtures/text.txt "$build/fixture"
  "${emulated[@]}" "$build/chargpt" --version
  python3 - "$build/fixture/run" "${emulated[@]}" "$build/chargpt" <<'PYTHON'
import json, subprocess, sys
run, *program = sys.argv[1:]
expected = json.load(open("tests/fixtures/expected.json"))
def chargpt(command, *arguments):
    return subprocess.run([*program, command, run, *arguments, "--threads", "1", "--quiet"], stdout=subprocess.PIPE, check=True, text=True).stdout
loss = json.loads(chargpt("eval", "--json"))["loss"]
assert abs(loss - expected["eval"]) < 1e-5, f"loss {loss}, on x86-64 {expected['eval']}"
sample = chargpt("sample", "--seed", "5", "--tokens", "60")
assert sample == expected["sample"], f"sampled {sample!r}, on x86-64 {expected['sample']!r}"
print(f"loss {loss:.12f}, on x86-64 {expected['eval']:.12f}; the same sample")
PYTHON
}

need_build_packages
need g++-aarch64-linux-gnu aarch64-linux-gnu-g++ qemu-user qemu-aarch64
unpack_packages arm64 "$root" zlib1g{,-dev} liblzma{5,-dev} libarchive-dev libbz2-dev libspdlog{1.10,-dev} libfmt{9,-dev} libcli11-dev nlohmann-json3-dev catch2
emulated=(qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$root/usr/lib/aarch64-linux-gnu")
[ -e "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_CROSSCOMPILING_EMULATOR="$(IFS=';' && echo "${emulated[*]}")" \
  -DCMAKE_FIND_ROOT_PATH="$root" -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY \
  -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCHARGPT_TORCH=OFF >&2 ||
  fail "CMake stopped (above)"
ninja -C "$build" -j "$(build_jobs)" >&2 || fail "the build for aarch64 stopped (above)"
ctest --test-dir "$build" -L quick -E '^(base|fuzz|kernels|train|compare|python|library_installed)$' -j "$(nproc)" --output-on-failure
# An emulated posix_spawn does not learn that there is no such program (qemu-user makes vfork a fork), and no emulated process lacks
# threads. LeakSanitizer does not work there (fuzz); the two Python groups load and link the library natively.
"${emulated[@]}" "$build/tests/test_core" -# "$(printf '[#%s]~[long]~[soak]~[cuda]~"a program that is not there*"~"threads that the system refuses*",' $(basename -s .cpp tests/{base,kernels}/*_test.cpp))"
"${emulated[@]}" "$build/tests/test_training" '~[libtorch]~[simulated]~[long]~[soak]~[cuda]'  # [simulated] takes ten minutes here
compare_with_x86
say "passed"
