"""The files of tests/golden: the references beside this one write them, or compute them anew and compare. Knows no figure."""
import argparse
import hashlib
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"


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


def write(documents):
    for name, document in documents.items():
        (GOLDEN / name).write_text(lines(document) + "\n", encoding="utf-8")
        print(f"{GOLDEN / name}: {(GOLDEN / name).stat().st_size} bytes")


def digest():
    """Of every reference and golden file, and of where Python finds torch."""
    sources = sorted([*pathlib.Path(__file__).parent.glob("*.py"), *GOLDEN.glob("*.json")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources) + os.environ.get("PYTHONPATH", "").encode()).hexdigest()


def add_check(parser):
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    parser.add_argument("--stamp", type=pathlib.Path, metavar="FILE", help="with --check: compute nothing if FILE says that the same scripts and files agreed")


def check(documents, stamp=None, limit=relative):
    """Compares documents(), by name, with the files; the exit status."""
    if stamp and stamp.exists() and stamp.read_text(encoding="utf-8") == digest():
        print("unchanged since the last check")
        return 0
    wrong = []
    for name, document in documents().items():
        stored = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
        found = differences(stored, document, limit)
        versions = f" (written by torch {stored['torch']}, checked by {document['torch']})" if "torch" in document else ""
        print(f"{name}: {'same' if not found else f'{len(found)} differences'}{versions}")
        wrong += found
    print(*wrong[:20], sep="\n", end="\n" if wrong else "", file=sys.stderr)
    if stamp and not wrong:
        stamp.write_text(digest(), encoding="utf-8")
    return 1 if wrong else 0


def keep_or_check(description, documents, limit=relative):
    """The command line of a reference: documents() are written by name, or compared with what is there. The exit status."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    add_check(parser)
    options = parser.parse_args()
    return check(documents, options.stamp, limit) if options.check else write(documents())
