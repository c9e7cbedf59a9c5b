#!/usr/bin/env bash
# Proves the two commands of the README from nothing: in an empty Debian 12 (debootstrap, minbase) with this machine's apt sources,
# pip set-up and wheel folders, a clone of the last commit, and the text served from a local address. Prints the minutes of each phase.
# WITHOUT_TEXT=1: no text either, as on a machine that reaches its package registries alone. TESTS: arguments for scripts/test.sh.
#   scripts/check/bare_install.sh [FOLDER]     FOLDER: where the root is made, and removed again; needs 6 GB (default: a temporary one)
# Needs root (chroot and mounts) and debootstrap; nothing outside FOLDER is changed. KEEP=1 leaves the root for a look.
set -euo pipefail
[ "${1-}" != --help ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit; }
checkout=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
. "$checkout/scripts/setup.sh"
suite=bookworm
training=(--max_iters 20)

[ "$(id -u)" -eq 0 ] || fail "run as root: it makes a root of its own and mounts into it"
need debootstrap debootstrap git git python3 python3
# A mount namespace of its own: whatever ends this script, its mounts end with it.
[ -n "${CHARGPT_BARE_MOUNTS:-}" ] || CHARGPT_BARE_MOUNTS=private exec unshare --mount --propagation private "$0" "$@"
text=$checkout/data/tinyshakespeare.txt
[ -n "${WITHOUT_TEXT:-}" ] || [ -e "$text" ] || bash "$checkout/scripts/get_text.sh" >&2 || fail "no text to serve: $text"

work=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/chargpt-bare.XXXXXX")
root=$work/root
home=$root/root/chargpt
mounted=()
server=

clean_up() {
  local status=$? i
  [ "$status" -eq 0 ] || [ -z "$current" ] || say "failed: $current"
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do
    umount "${mounted[i]}" || umount -l "${mounted[i]}" || true
  done
  if grep -qF " $work/" /proc/self/mounts; then  # never delete through a bind mount
    say "left in place, something is still mounted there: $work"
  elif [ -n "${KEEP:-}" ]; then
    say "kept: $root"
  else
    rm -rf --one-file-system "$work"
  fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# attach SOURCE: binds a folder of this machine to the same place of the root.
attach() {
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  mounted+=("$root$1")
}

phases=()
current=
# phase NAME command…: runs it and notes the minutes.
phase() {
  local name=$1 begin=$EPOCHREALTIME minutes
  current=$name
  shift
  say "$name"
  "$@"
  minutes=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.2f", (b - a) / 60}')
  phases+=("$minutes min  $name")
  current=
}

# Where this machine gets the suite from, and what that address needs.
archive() { apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' "Created-By: Packages" | awk -v suite=$suite '$2 == suite && $3 == "main" {print $1; exit}'; }

make_root() {
  local mirror proxy
  mirror=$(archive)
  [ -n "$mirror" ] || fail "the apt sources of this machine have no $suite main"
  proxy=$(apt-config shell value Acquire::http::Proxy | sed -n "s/^value='\(.*\)'$/\1/p")
  http_proxy=${http_proxy:-$proxy} debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log" >&2; return 1; }
}

# Copies what exists of the given absolute paths to the same place in the root.
copy_in() {
  local path
  for path in "$@"; do
    [ -e "$path" ] || continue
    mkdir -p "$root$(dirname "$path")"
    cp -aLT "$path" "$root$path"
  done
}

# pip's settings on this machine, one value a line.
pip_values() { python3 -m pip config list 2>/dev/null | sed -n "s/^[^=]*='\(.*\)'$/\1/p" | tr -s ' \\n' '\n'; }

furnish_root() {
  rm -f "$root"/etc/apt/sources.list
  copy_in /etc/apt/{sources.list,sources.list.d,apt.conf,apt.conf.d,auth.conf,auth.conf.d,preferences,preferences.d,trusted.gpg,trusted.gpg.d,keyrings} \
    /usr/share/keyrings /usr/local/share/ca-certificates /etc/resolv.conf /etc/hosts /etc/pip.conf /root/.config/pip /root/.pip
  mount -t proc proc "$root/proc"
  mounted+=("$root/proc")
  attach /dev
  attach /dev/pts  # tests open terminals
  attach /sys
  local value
  for value in $(pip_values); do
    value=${value#file://}
    if [ -f "$value" ]; then
      copy_in "$value"  # a certificate bundle, say
    elif [[ $value == /*/simple ]] && [ -d "$value" ]; then
      attach "$(dirname "$value")"  # an index: its pages link to files beside it
    elif [[ $value == /* ]] && [ -d "$value" ] && ! mountpoint -q "$root$value"; then
      attach "$value"
    fi
  done
  git clone -q --no-hardlinks "$checkout" "$home"
}

serve_text() {
  if [ -n "${WITHOUT_TEXT:-}" ]; then
    text_url=http://127.0.0.1:9/  # nobody listens there
    return
  fi
  local port_file=$work/port
  python3 - "$(dirname "$text")" "$port_file" <<'PYTHON' &
import functools, http.server, pathlib, sys
handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=sys.argv[1]))
pathlib.Path(sys.argv[2]).write_text(str(server.server_port))
server.serve_forever()
PYTHON
  server=$!
  until [ -s "$port_file" ]; do sleep 0.1; done
  text_url=http://127.0.0.1:$(cat "$port_file")/$(basename "$text")
}

# inside command…: in the clone, in the root, with nothing of this machine's environment but proxies, pip settings and the text's address.
inside() {
  local kept=() name
  for name in $(compgen -e); do
    case $name in
      PIP_* | http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY) kept+=("$name=${!name}") ;;
    esac
  done
  chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    CHARGPT_TEXT="$text_url" "${kept[@]}" bash -c 'cd /root/chargpt && exec "$@"' bash "$@"
}

# As the README says, in the bare root; build.sh before it only to time the parts.
packages() { inside bash -c '. scripts/setup.sh && need_build_packages && want clang-format-14 clang-format-14 && want clang++-14 clang-14 libclang-rt-14-dev'; }
libtorch() { inside bash -c '. scripts/setup.sh && { [ -n "$(find_libtorch)" ] || fetch_libtorch; }'; }

[ -z "$(git -C "$checkout" status --porcelain)" ] || say "note: changes that are not committed are not in the clone"
phase "an empty Debian ($suite, minbase)" make_root
phase "apt and pip set-up, clone" furnish_root
serve_text
phase "packages" packages
phase "LibTorch" libtorch
phase "build" inside scripts/build.sh
phase "scripts/train.sh ${training[*]}" inside scripts/train.sh "${training[@]}"
phase "scripts/train.sh ${training[*]}, again" inside scripts/train.sh "${training[@]}"
read -ra tests <<<"${TESTS:-}"
phase "scripts/test.sh ${tests[*]}" inside scripts/test.sh "${tests[@]}"
printf '%s\n' "${phases[@]}"
echo "bare_install.sh: passed, $(inside build/chargpt --version | head -n 1)"
