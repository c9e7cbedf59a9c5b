#!/usr/bin/env bash
# Installs and uses what scripts/package_wheel.sh built: the wheel on this machine and without AVX2 (qemu-user), then wheel, archive and Debian
# package in empty Debian systems with Python alone. Prints commands and seconds.
#   scripts/check/wheel.sh [FOLDER] [SUITE]…          FOLDER: as of package_wheel.sh, which runs first (default: build-wheel); SUITE: see below
#   scripts/check/wheel.sh --here DIST [PACKAGE]…     what is done in each system: the packages of DIST on this one, with these of PyPI
# Needs root, and without --here debootstrap, qemu-user-static and mounts; then nothing outside FOLDER is changed. 1 GB; 10 minutes beside the build.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/start.sh"
[ "$(id -u)" -eq 0 ] || fail "run as root: it installs a package, or makes roots of its own and mounts into them"
[ "${1:-}" = --here ] || [ -n "${CHARGPT_WHEEL_MOUNTS:-}" ] ||
  CHARGPT_WHEEL_MOUNTS=private exec unshare --mount --propagation private scripts/check/wheel.sh "$@"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# timed command…: the command, its output, and its seconds.
timed() {
  local begin=$EPOCHREALTIME
  echo "\$ $*"
  "$@"
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "  (%.2f s)\n", b - a}'
}

# use_wheel DIST [PACKAGE]…: in a virtual environment; pip asks PyPI only for the packages.
use_wheel() {
  timed python3 -m venv "$work/venv"
  timed "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$1"/chargpt-*"$(uname -m)".whl
  [ $# -eq 1 ] || timed "$work/venv/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
  program=$(echo "$work"/venv/lib/python3*/site-packages/chargpt/chargpt)
  PATH=$work/venv/bin:$PATH
  timed chargpt train quick --text data/sample.txt --run "$work/mine"
  timed chargpt sample "$work/mine" --prompt "The " --tokens 60
  timed chargpt eval "$work/mine"
  timed chargpt page "$work/mine"
  timed chargpt compare ladder --text data/sample.txt --max_iters 100 --out "$work/ladder"
  timed python -c 'import chargpt, sys; print("".join(chargpt.load(sys.argv[1]).generate("The ", tokens=60)))' "$work/mine"
  CHARGPT=$program timed python tests/run_python.py tests/python test_module.py
}

if [ "${1:-}" = --here ]; then
  say "$(. /etc/os-release && echo "$PRETTY_NAME"), $(python3 --version), $(ldd --version | sed 1q)"
  use_wheel "${@:2}"
  timed tar xzf "$2"/chargpt-*"$(uname -m).tar.gz" -C "$work"
  timed "$work"/chargpt-*/bin/chargpt sample "$work/mine" --tokens 20 --quiet
  timed dpkg -i "$2"/chargpt_*"$(dpkg --print-architecture).deb"
  timed /usr/bin/chargpt sample "$work/mine" --tokens 20 --quiet
  timed python3 /usr/share/doc/chargpt/examples/next.py "$work/mine" "The "
  timed dpkg -r chargpt
  exit
fi

need debootstrap debootstrap qemu-user-static qemu-x86_64-static
scripts/package_wheel.sh "${1:-build-wheel}" >&2
folder=$(cd "${1:-build-wheel}" && pwd -P)
suites=("${@:2}")
[ ${#suites[@]} -gt 0 ] || suites=(bullseye bookworm trixie)
wheel=$(echo "$folder"/dist/chargpt-*x86_64.whl)
ls -l "$folder/dist"
"$folder/venv/bin/auditwheel" show "$wheel" | sed -n 1,4p
[ "$(stat -c %s "$wheel")" -le 8000000 ] || fail "the wheel is larger than 8 MB"
use_wheel "$folder/dist" numpy pandas mypy

timed qemu-x86_64-static -cpu Nehalem "$program" train quick --text data/sample.txt --max_iters 3 --run "$work/old"

mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT)' "Created-By: Packages" | awk '$2 == "Debian" && $3 == "main" {print $1; exit}')
proxy=$(apt-config shell value Acquire::http::Proxy | sed -n "s/^value='\(.*\)'$/\1/p")
for suite in "${suites[@]}"; do
  root=$folder/root-$suite
  if [ ! -e "$root" ]; then
    rm -rf "$root.incoming"
    http_proxy=${http_proxy:-$proxy} debootstrap --variant=minbase --include=python3-venv "$suite" "$root.incoming" "$mirror" >"$folder/debootstrap.log" 2>&1 ||
      fail "debootstrap stopped: $folder/debootstrap.log"
    mv "$root.incoming" "$root"
  fi
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"  # with its terminals
  rm -rf "$root/user" && mkdir "$root/user"
  cp -r tests data configs scripts "$folder/dist" "$root/user"
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 /user/scripts/check/wheel.sh --here dist
  umount -R "$root/dev" "$root/proc"
done
say "passed"
