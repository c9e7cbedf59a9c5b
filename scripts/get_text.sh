#!/bin/sh
# Puts tinyshakespeare (1,115,394 bytes) at data/tinyshakespeare.txt, whole and checked, or leaves nothing and says why.
# $CHARGPT_TEXT says where it is, a path or an address; else it is downloaded.
set -eu
cd "$(dirname "$0")/.."

sha256=86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
target=data/tinyshakespeare.txt
source=${CHARGPT_TEXT:-https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt}
advice="set CHARGPT_TEXT to a path or an address of it, or train on a text that needs no network: chargpt train --text data/sample.txt"

fail() {
  echo "get_text.sh: error: $1" >&2
  exit "$2"
}

checksum_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1"
  fi
}

is_the_text() {
  [ -f "$1" ] && [ "$(checksum_of "$1")" = "$sha256" ]
}

# download FILE: the bytes at the address $source into FILE; says why it could not on standard output.
download() {
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --connect-timeout 10 --max-time 300 --retry 1 --output "$1" "$source" 2>&1
  elif command -v wget >/dev/null; then
    wget --no-verbose --timeout=10 --tries=2 --output-document="$1" "$source" 2>&1
  elif command -v python3 >/dev/null; then
    python3 -c 'import sys, urllib.request as r; open(sys.argv[2], "wb").write(r.urlopen(sys.argv[1], timeout=10).read())' \
      "$source" "$1" 2>&1
  else
    echo "there is no curl, wget or python3"
    return 1
  fi
}

if [ -e "$target" ]; then
  is_the_text "$target" && exit 0
  fail "$target is there, but it is not tinyshakespeare (SHA-256 differs); move it away and run this again, or train on it with --text $target" 65
fi

partial=$target.partial-$$
trap 'rm -f "$partial"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

case $source in
  *://*)
    echo "get_text.sh: fetching $source" >&2
    reason=$(download "$partial") || fail "cannot download $source ($(echo "$reason" | tail -n 1)); check the network, or $advice" 69 ;;
  *)
    [ -r "$source" ] || fail "cannot read $source, which CHARGPT_TEXT names" 66
    cp "$source" "$partial" || fail "cannot write data/: free some space, or check its permissions" 74 ;;
esac
is_the_text "$partial" || fail "$source is not tinyshakespeare (its SHA-256 differs); $advice" 65
mv "$partial" "$target"
echo "get_text.sh: $target is ready" >&2
