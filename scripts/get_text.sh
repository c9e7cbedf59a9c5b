#!/bin/sh
# Puts tinyshakespeare (1,115,394 bytes) at data/tinyshakespeare.txt, whole and checked, or leaves nothing and says why.
# $CHARGPT_TEXT says where it is, a path or an address; else it is downloaded.
set -eu
cd "$(dirname "$0")/.."
exec python3 - "${CHARGPT_TEXT:-https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt}" <<'PYTHON'
import hashlib, os, pathlib, sys, urllib.request
source, target = sys.argv[1], pathlib.Path("data/tinyshakespeare.txt")
advice = "set CHARGPT_TEXT to a path or an address of it, or train on a text that needs no network: chargpt train --text data/sample.txt"
is_the_text = lambda data: hashlib.sha256(data).hexdigest() == "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"

def fail(code, message):
    print(f"get_text.sh: error: {message}", file=sys.stderr)
    sys.exit(code)

if target.exists():
    is_the_text(target.read_bytes()) or fail(65, f"{target} is not tinyshakespeare (its SHA-256 differs); move it away and run this again, or train on it"
                                                 f" with --text {target}")
    sys.exit()
try:
    if "://" in source:
        print(f"get_text.sh: fetching {source}", file=sys.stderr)
        data = urllib.request.urlopen(source, timeout=10).read()
    else:
        data = pathlib.Path(source).read_bytes()
except (OSError, ValueError) as reason:
    fail(69 if "://" in source else 66, f"cannot read {source} ({reason}); check the network, or {advice}" if "://" in source else f"cannot read {source}, which CHARGPT_TEXT names")
is_the_text(data) or fail(65, f"{source} is not tinyshakespeare (its SHA-256 differs); {advice}")
partial = target.with_suffix(f".partial-{os.getpid()}")
try:
    partial.write_bytes(data)
    partial.rename(target)
except OSError as reason:
    partial.unlink(missing_ok=True)
    fail(74, f"cannot write {target} ({reason.strerror}); free some space, or check its permissions")
print(f"get_text.sh: {target} is ready", file=sys.stderr)
PYTHON
