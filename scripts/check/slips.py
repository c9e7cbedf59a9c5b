#!/usr/bin/env python3
"""Would the tests notice? Draws slips such as programmers make, one at a time, and runs the quick tests until one fails.

    scripts/check/slips.py [--count 40] [--only cli,compare,report,page,run] [--seed N] [--copy build/slips]

Each is a line of a source file of src/, chosen at random, outside string literals, with one slip of a kind below; drawn again where that does not compile or makes the same object.
It works in --copy, a clone of the last commit, which is made and built where it is not there, and where all quick tests must pass, and prints a row for each: kind, file, line,
the first test that failed, or NOT. Tests of the file's module run first, then all others. Minutes for each slip; ccache helps.
"""

import argparse
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = r"[A-Za-z_][\w.:]*(?:\(\))?"
OTHER = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " + ": " - ", " - ": " + ", "true": "false", "false": "true",
         "1000": "100", "100": "1000", "60": "100", "1024": "1000", "<< 20": "<< 10", "<< 30": "<< 20"}
KINDS = {  # the pattern to find in a line, and its replacement
    "a boundary off by one": (r" (?:[<>]=?) (?=[\w(])", lambda found: OTHER[found[0]]),
    "a sign": (r" [+-] (?=[\w(])", lambda found: OTHER[found[0]]),
    "a dropped term": (rf" (?:[+*-]|&&|\|\|) !?{NAME}(?=[;,) ])(?! *[.(\[])", lambda found: ""),
    "a swapped argument": (rf"\(({NAME}), ({NAME})(?=[,)])", lambda found: f"({found[2]}, {found[1]}"),
    "a wrong default": (r"(?<== )(?:true|false|\d+)(?=[;,)])", lambda found: OTHER.get(found[0]) or str(int(found[0]) + 1)),
    "an error swallowed": (r"(?<!\w)throw [^;]*;$", lambda found: "{}"),  # `if (x);` would be an error of -Wempty-body
    "a unit": (r"(?<![\w.])(?:1000|100|60|1024|<< 20|<< 30)(?![\w.])", lambda found: OTHER[found[0]]),
}
RELATED = {"cli": "^(cli|transcript_)", "compare": "^(compare|cli_compare|transcript_comparing)$", "page": "^(cli_page|transcript_looking)$", "report": "^(report|cli_screens|cli_watch)$",
           "run": "^(run|fuzz|faults_operations)$", "exchange": "^(exchange|fuzz|cli_exchange)$", "model": "^(model|engine)$", "libtorch": "^engine$"}


def places(only):
    """kind -> (file, line number, match) of every place where such a slip can be made."""
    found = {kind: [] for kind in KINDS}
    for path in sorted((ROOT / "src").glob("*/**/*.cpp")):
        if only and path.relative_to(ROOT / "src").parts[0] not in only:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            if not re.match(r"\s*(//|#|using|template|static_assert)|.*\{ [a-z-]+: ", line):
                code = re.sub(r'"(?:[^"\\]|\\.)*"', lambda text: '"' * len(text[0]), line).partition("  //")[0]  # string literals stay as they are
                for kind, (pattern, _) in KINDS.items():
                    found[kind] += [(path.relative_to(ROOT), number, match) for match in re.finditer(pattern, code)]
    return {kind: all_of_kind for kind, all_of_kind in found.items() if all_of_kind}


def run(folder, *command):
    """In that folder, with its output."""
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)


def make_copy(folder):
    if not folder.exists():
        run(ROOT, "git", "clone", "--shared", ROOT, folder)
        for name in (".libtorch", "data/tinyshakespeare.txt"):
            if (ROOT / name).exists():
                (folder / name).symlink_to(ROOT / name)
    done = run(folder, "bash", "-euc", ". scripts/setup.sh; build")
    if done.returncode != 0:
        raise SystemExit(done.stderr)


def noticed_by(folder, module):
    """The first quick test that fails; None if all pass."""
    related = RELATED.get(module, f"^{module}$")
    for selection in (["-R", related], ["-E", related]):
        done = run(folder, "ctest", "--test-dir", "build", "-j2", "-L", "quick", "--timeout", "600", "--stop-on-failure", "--no-tests=ignore", *selection)
        if done.returncode != 0:
            return re.search(r"\d+ - (\S+) \(", done.stdout)[1]
    return None


def slip(folder, kind, path, number, match):
    """None where it changes nothing or does not compile; else the test that noticed it, or NOT."""
    source, compiled = folder / path, folder / f"build/CMakeFiles/chargpt_{'libtorch' if path.parts[1] in ('model', 'libtorch') else 'core'}.dir/{path}.o"
    compile_it = "ninja", "-C", "build", compiled.relative_to(folder / "build")
    run(folder, *compile_it)  # an earlier slip may have been in this file
    good, before = source.read_text(encoding="utf-8"), compiled.read_bytes()
    lines = good.splitlines()
    lines[number] = lines[number][:match.start()] + KINDS[kind][1](match) + lines[number][match.end():]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        if run(folder, *compile_it).returncode != 0 or compiled.read_bytes() == before:
            return None
        if run(folder, "ninja", "-C", "build").returncode != 0:
            return "the build"
        return noticed_by(folder, path.parts[1]) or "NOT"
    finally:
        source.write_text(good, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", type=lambda words: words.split(","), help="modules")
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--copy", type=pathlib.Path, default=ROOT / "build/slips")
    options = parser.parse_args()
    draw, found = random.Random(options.seed), places(options.only)
    print(f"seed {options.seed}", flush=True)
    make_copy(options.copy)
    if failing := noticed_by(options.copy, ""):
        raise SystemExit(f"{failing} fails without a slip")
    results = []
    while len(results) < options.count:
        kind = draw.choice(list(found))
        path, number, match = draw.choice(found[kind])
        result = slip(options.copy, kind, path, number, match)
        if result:
            results.append(result)
            print(f"{kind:22} {path}:{number + 1} `{match[0].strip()}`: {result}", flush=True)
    print(f"{len(results) - results.count('NOT')} of {len(results)} noticed")


if __name__ == "__main__":
    main()
