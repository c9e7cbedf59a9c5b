#!/usr/bin/env bash
# Installs and uses what scripts/package_wheel.sh built: the wheel in a virtual environment of this machine, where the module's tests run against
# it, and without AVX2 (qemu-user); then wheel, archive and Debian package in empty Debian systems with Python alone. Prints commands and seconds.
#   scripts/check/wheel.sh [FOLDER] [SUITE]…     FOLDER: as of package_wheel.sh, which runs first (default: build-wheel); SUITE: bullseye trixie
# Needs root (chroot and mounts), debootstrap and qemu-user-static; nothing outside FOLDER is changed. 1 GB; 5 minutes beside the build.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. scripts/setup.sh
[ "$(id -u)" -eq 0 ] || fail "run as root: it makes roots of its own and mounts into them"
need debootstrap debootstrap qemu-user-static qemu-x86_64-static
[ -n "${CHARGPT_WHEEL_MOUNTS:-}" ] || CHARGPT_WHEEL_MOUNTS=private exec unshare --mount --propagation private scripts/check/wheel.sh "$@"
scripts/package_wheel.sh "${1:-build-wheel}" >&2
folder=$(cd "${1:-build-wheel}" && pwd -P)
suites=("${@:2}")
wheel=$(echo "$folder"/dist/chargpt-*x86_64.whl)

# timed command…: the command, its output, and its seconds.
timed() {
  local begin=$EPOCHREALTIME
  echo "\$ $*"
  "$@"
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "  (%.2f s)\n", b - a}'
}

ls -l "$folder/dist"
"$folder/venv/bin/auditwheel" show "$wheel" | sed -n 1,4p
[ "$(stat -c %s "$wheel")" -le 8000000 ] || fail "the wheel is larger than 8 MB"

say "this machine, $(python3 --version)"
user=$folder/user
rm -rf "$user"
python3 -m venv "$user"
timed "$user/bin/pip" install --quiet --disable-pip-version-check "$wheel"
"$user/bin/pip" install --quiet --disable-pip-version-check numpy pandas mypy
installed=$(dirname "$("$user/bin/python" -c 'import chargpt; print(chargpt.__file__)')")
timed "$user/bin/chargpt" --version
CHARGPT=$installed/chargpt "$user/bin/python" tests/run_python.py tests/python test_module.py
timed "$user/bin/chargpt" train ladder/post-norm --text data/sample.txt --max_iters 20 --overwrite --run "$folder/ladder"

say "a processor without AVX2"
rm -rf "$folder/old"
qemu-x86_64-static -cpu Nehalem "$installed/chargpt" train quick --text data/sample.txt --max_iters 3 --run "$folder/old" 2>&1 | tee "$folder/old.log" | grep AVX2
[ "$(grep -c AVX2 "$folder/old.log")" -eq 1 ] || fail "a processor without AVX2 should be told of in one line"

mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT)' "Created-By: Packages" | awk '$2 == "Debian" && $3 == "main" {print $1; exit}')
proxy=$(apt-config shell value Acquire::http::Proxy | sed -n "s/^value='\(.*\)'$/\1/p")
[ ${#suites[@]} -gt 0 ] || suites=(bullseye trixie)
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
  rm -rf "$root/user" && mkdir "$root/user" "$root/user/scripts"
  cp "$folder"/dist/* data/sample.txt scripts/python/example.py "$root/user"
  cp -r tests data configs "$root/user/" && cp -r scripts/python "$root/user/scripts"
  inside() { timed chroot "$root" /usr/bin/env -i -C /user PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }
  say "$suite: $(chroot "$root" python3 --version), $(chroot "$root" ldd --version | sed 1q)"
  inside python3 -m venv /user/venv
  inside venv/bin/pip install --quiet --no-index "$(basename "$wheel")"
  inside venv/bin/chargpt train quick --text sample.txt --run mine
  inside venv/bin/chargpt sample mine --prompt "The " --tokens 60
  inside venv/bin/chargpt eval mine
  inside venv/bin/chargpt page mine
  inside venv/bin/python -c 'import chargpt; print("".join(chargpt.load("mine").generate("The ", tokens=60)))'
  inside env CHARGPT="$(chroot "$root" sh -c 'echo /user/venv/lib/python3*/site-packages/chargpt/chargpt')" python3 tests/run_python.py tests/python test_module.py
  inside tar xzf "$(basename "$folder"/dist/*x86_64.tar.gz)"
  inside sh -c 'chargpt-*/bin/chargpt sample mine --tokens 20 --quiet'
  inside dpkg -i "$(basename "$folder"/dist/*amd64.deb)"
  inside chargpt sample mine --tokens 20 --quiet
  inside dpkg -r chargpt
  umount -R "$root/dev" "$root/proc"
done
say "passed"
