"""The files of tests/golden: the references beside this one write them, or compute them again and compare. Independent of the figures.

    python3 scripts/reference/golden.py          computes again where a reference or a figure has changed since all agreed (tests/golden/checked.txt)
    python3 scripts/reference/golden.py --all    computes all again
"""
import argparse
import hashlib
import importlib.util
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
CHECKED = GOLDEN / "checked.txt"  # the digest of what last agreed


def tinyshakespeare(test):
    """Its path; where it is not there, `test` ends as skipped."""
    path = ROOT / "data" / "tinyshakespeare.txt"
    if not path.exists():
        print(f"skipped because data/tinyshakespeare.txt is not there: {test}")
        sys.exit(77)
    return path


def lines(value, indent=""):
    """JSON with a line for each member, but lists of figures and small objects on one, so that a difference can be read."""
    inner = indent + " "
    nested = isinstance(value, dict) and any(isinstance(v, dict) or (v and isinstance(v, list) and isinstance(v[0], dict)) for v in value.values())
    if nested and "shape" not in value:
        rows = [f"{inner}{json.dumps(k)}: {lines(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + indent + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(inner + lines(v, inner) for v in value) + "\n" + indent + "]"
    return json.dumps(value)


def relative(_, figure):
    return 1e-5 * (1 + abs(figure))


def differences(stored, fresh, limit, path=""):
    """Where two documents differ; of a figure by more than limit(path, figure)."""
    if isinstance(fresh, dict) and isinstance(stored, dict) and fresh.keys() == stored.keys():
        return [d for k in fresh for d in differences(stored[k], fresh[k], limit, f"{path}/{k}") if k != "torch"]
    if isinstance(fresh, list) and isinstance(stored, list) and len(fresh) == len(stored):
        return [d for i, v in enumerate(fresh) for d in differences(stored[i], v, limit, f"{path}/{i}")]
    if isinstance(fresh, float) and isinstance(stored, (int, float)):
        return [] if abs(fresh - stored) <= limit(path, fresh) else [f"{path}: {stored} stored, {fresh} now"]
    return [] if fresh == stored else [f"{path}: differs"]


def digest():
    """Of every reference, the definition of the gpt, and every golden file."""
    sources = [*sorted(pathlib.Path(__file__).parent.glob("*.py")), ROOT / "src/exchange/transformers/modeling_chargpt.py", *sorted(GOLDEN.glob("*.json"))]
    return hashlib.sha256(b"".join(map(pathlib.Path.read_bytes, sources))).hexdigest() + "\n"


def keep_or_check(description, documents, limit=relative):
    """The command line of a reference: documents() are written by name, or compared with what is there. The exit status."""
    parser, wrong = argparse.ArgumentParser(description=description.split("\n")[0]), []
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    is_check = parser.parse_args().check
    for name, document in documents().items():
        if not is_check:
            (GOLDEN / name).write_text(lines(document) + "\n", encoding="utf-8")
            continue
        found = differences(json.loads((GOLDEN / name).read_text(encoding="utf-8")), document, limit)
        print(f"{name}: {f'{len(found)} differences' if found else 'same'}")
        wrong += found
    print(*wrong[:20], sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def check_all():
    """Runs every reference with --check; the exit status."""
    if "--all" not in sys.argv and CHECKED.read_text(encoding="utf-8") == digest():
        print("unchanged since all agreed")
        return 0
    missing = [name for name in ("torch", "transformers") if not importlib.util.find_spec(name)]
    if missing:
        print(f"skipped because python3 cannot import {' and '.join(missing)}: reference")
        return 77
    references = {path for path in pathlib.Path(__file__).parent.glob("*.py") if path.name not in ("golden.py", "peer.py")}
    codes = {subprocess.run([sys.executable, path, "--check"], check=False).returncode for path in references}
    if codes == {0}:
        CHECKED.write_text(digest(), encoding="utf-8")
    return max(codes - {77}, default=77) or max(codes)


if __name__ == "__main__":
    sys.exit(check_all())
