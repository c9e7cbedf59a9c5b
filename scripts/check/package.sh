#!/usr/bin/env bash
# Makes the Debian package of the half without LibTorch, installs it in an empty Debian (debootstrap, minbase), uses it there and removes it.
#   scripts/check/package.sh [FOLDER]     FOLDER: where all of that lies, and is removed again; needs 1 GB (default: a temporary one)
# Needs root (chroot) and debootstrap; nothing outside FOLDER is changed.
set -euo pipefail
checkout=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)

say() { echo "package.sh: $*" >&2; }
fail() { say "error: $*"; exit 1; }

[ "$(id -u)" -eq 0 ] || fail "run as root: it makes a root of its own"
for tool in debootstrap cpack dpkg-shlibdeps; do
  command -v $tool >/dev/null || fail "needs $tool: apt-get install debootstrap cmake dpkg-dev"
done
work=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/chargpt-package.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

cmake -S "$checkout" -B "$work/build" -G Ninja -DCHARGPT_TORCH=OFF -DCHARGPT_TESTS=OFF >"$work/log"
ninja -C "$work/build" >>"$work/log" || { tail -n 20 "$work/log" >&2; fail "the package does not build"; }
(cd "$work/build" && cpack -G DEB) >>"$work/log" || { tail -n 20 "$work/log" >&2; fail "cpack failed"; }
package=$(echo "$work"/build/*.deb)
say "$(basename "$package"), $(stat -c %s "$package") bytes; needs $(dpkg-deb -f "$package" Depends)"

mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' "Created-By: Packages" | awk '$2 == "bookworm" && $3 == "main" {print $1; exit}')
# What the package depends on, by the names of real packages: debootstrap knows no virtual ones.
needed=()
for name in $(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/,/ /g'); do
  provider=$(apt-cache showpkg "$name" | awk '/^Reverse Provides:/ {found = 1; next} found {print $1; exit}')
  needed+=("${provider:-$name}")
done
debootstrap --variant=minbase --include="$(IFS=,; echo "${needed[*]}")" bookworm "$root" "$mirror" >>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "debootstrap failed"; }
cp "$package" "$root/chargpt.deb"
cp -r "$checkout/tests/fixtures/run" "$root/fixture"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }

inside dpkg -i chargpt.deb >>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "dpkg refuses the package"; }
inside chargpt --version
inside chargpt sample fixture --tokens 60
inside chargpt inspect fixture >>"$work/log"
inside chargpt score fixture - --json <<<"the end" | grep -q '"loss"' || fail "score gives no loss"
status=0
refusal=$(inside chargpt train 2>&1 >/dev/null) || status=$?
[ "$status" -eq 69 ] && [ "$(wc -l <<<"$refusal")" -eq 1 ] || fail "train should be refused in one line with 69; it ended with $status: $refusal"
say "train: $refusal"
inside dpkg -r chargpt >>"$work/log" 2>&1
[ ! -e "$root/usr/bin/chargpt" ] || fail "the package left its program behind"
say "passed"
