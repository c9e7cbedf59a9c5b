#!/usr/bin/env python3
"""Refuses words of unfinished work, wording that is not plain English (lists below), and hidden tests, which never run.

    scripts/check/words.py [FOLDER]      FOLDER: the checkout (default: this one)
"""

import pathlib
import re
import sys

PLACES = ("README.md", "CMakeLists.txt", "src", "tests", "scripts", "configs", "data", ".ci")
SUFFIXES = {".h", ".cpp", ".py", ".sh", ".cmake", ".md", ".txt", ".json", ".jsonc", ""}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\b(not (yet )?implemented|unimplemented|placeholders?|stubs?|stubbed|mocked up)\b", re.IGNORECASE)
PRIVATE = re.compile(r"\b((begin|begins|begun) anew|learnt|lies? side by side|counts? for nothing|come up since|tells it once|be used up|make room|hit upon|trained alike|had their part|next to nothing|speaks for all|would flatter|compares? with nothing|as good as equal|turn of phrase|(are|is) no (JSON|list|page|single|duration))\b", re.IGNORECASE)
HIDDEN_TEST = re.compile(r'"[^"\n]*\[(\.|!hide|!mayfail|!shouldfail)[^"\n]*"|\bSKIP\(|unittest\.(skip|expectedFailure)\b')
EXEMPT = {"scripts/check/words.py", "tests/checks/test_checks.py", "data/tinyshakespeare.txt"}


def files(root):
    for place in PLACES:
        path = root / place
        yield from sorted(path.rglob("*")) if path.is_dir() else [path]


def offences(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in ((UNFINISHED, "unfinished"), (PRIVATE, "not plain English"), (HIDDEN_TEST, "a hidden test")):
            if (match := pattern.search(line)) and (pattern is not HIDDEN_TEST or name.startswith("tests/")):
                yield f"{name}:{number}: {what}: {match[0]}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    found, count = [], 0
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or path.suffix not in SUFFIXES or name in EXEMPT or "golden" in path.parts:
            continue
        count += 1
        found += offences(name, path.read_text(encoding="utf-8", errors="replace"))
    print(*found, f"check_words: {count} files, {len(found)} offences", sep="\n")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(print(__doc__) if {"-h", "--help"} & {*sys.argv} else main())
