#!/usr/bin/env python3
"""Counts lines of code and compares them with the limits below. Those of modules are in src/modules.txt. The limits only go down: a commit
that removes code lowers them.

    scripts/check/size.py [FOLDER]      FOLDER: the checkout (default: this one)

A line of code is not blank, not a comment, not an include and not punctuation alone. Text cases (tests/cli/*.txt) count as tests.
Exit status 1 for a total above its limit, a line of src/ over 120 columns, a function over 50 lines, and a module with less than one line of comment in twelve of code.
A module above its own limit gets a warning.
"""

import collections
import pathlib
import re
import sys

SHOWN = ("cli", "report", "compare")
TOTALS = {"src": 20901, "+".join(SHOWN): 6607, "tests": 16750, "fixtures, raw": 609, "scripts": 3977, "READMEs, words": 8460, "notebook, words": 3995}
FOLDERS = ("src", "configs", "data", "tests", "scripts", ".github")
COLUMNS = 120
CODE_PER_COMMENT = 12
LONG_FUNCTION = re.compile(r"^(?!namespace|class|struct|enum)(\w[^;{}]*)\{(?:\n(?!\}).*){50}", re.MULTILINE)

C_LIKE = {".cpp", ".h", ".hpp", ".c", ".js", ".css", ".html"}
HASH_LIKE = {".py", ".sh", ".cmake", ".txt", ".sbatch", ".in", ""}
UNCOUNTED = re.compile(r"#\s*(include\b|pragma once)|\W*$")


def count(lines, suffix):
    """(lines of code, lines of comment)."""
    code = comments = 0
    marks = ("//", "/*") if suffix in C_LIKE else ("#", '"""') if suffix == ".py" else ("#",)
    end = ""  # of the comment or docstring that the line is in
    in_string = False  # a Python string of several lines, which is code
    for line in map(str.strip, lines):
        if in_string:
            code += UNCOUNTED.match(line) is None
            in_string = '"""' not in line
            continue
        if not end and UNCOUNTED.match(line) and not line.startswith(marks):
            continue
        if end or (line.startswith(marks) and not (suffix in C_LIKE and line.startswith("#"))):
            comments += 1
            closing = end or {"/*": "*/", '""': '"""'}.get(line[:2], "")
            end = "" if closing in (line if end else line[len(closing):]) else closing
        else:
            code += 1
            in_string = suffix == ".py" and line.count('"""') % 2 == 1
    return code, comments


def part_of(path):
    """The module of a file of src/, or the total that another file counts in; "" for a file that is not counted."""
    top, *below = path.parts
    if path.suffix == ".md":
        return "notebook, words" if path.name in ("LOG.md", "CHANGELOG.md") else "READMEs, words"
    if top == "tests" and below[0] == "fixtures":
        return "fixtures, raw"
    if path.suffix not in C_LIKE | HASH_LIKE or "golden" in below or "corpus" in below or top not in ("src", "tests", "scripts", "CMakeLists.txt"):
        return ""
    if top == "src" and path.suffix != ".txt":
        return below[0] if len(below) > 1 else "main"
    return "tests" if top == "tests" else "" if top == "src" else "scripts"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    listed = [*root.glob("*"), *(path for folder in FOLDERS for path in sorted((root / folder).rglob("*")))]
    rows = [line.split(None, 2) for line in (root / "src/modules.txt").read_text().splitlines() if line and line[0] != "#"]
    modules = {"main": 120, **{name: int(limit) for name, limit, _ in rows}}
    totals, raw, comments, faults = collections.Counter(), collections.Counter(), collections.Counter(), []
    for path in (each.relative_to(root) for each in listed if each.is_file() and "__pycache__" not in each.parts):
        part = part_of(path)
        if not part:
            continue
        lines = (root / path).read_bytes().decode(errors="replace").removesuffix("\n").split("\n")
        code, comment = count(lines, path.suffix)
        raw[part] += len(lines)
        comments[part] += comment
        totals[part] += len(lines) if "raw" in part else len(" ".join(lines).split()) if "words" in part else code
        if path.parts[0] == "src" and path.suffix != ".md":
            faults += [f"{path}:{number}: over {COLUMNS} columns" for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
            faults += [f"{path}: over 50 lines: {found[1]}" for found in LONG_FUNCTION.finditer("\n".join(lines)) if path.suffix == ".cpp"]
    for counts in (totals, raw):
        counts["src"], counts["+".join(SHOWN)] = (sum(counts[module] for module in group) for group in (modules, SHOWN))
    for part, limit in {**modules, **TOTALS}.items():
        over = totals[part] > limit
        print(f"{part:24}{totals[part]:7,} of {limit:7,}   raw {raw[part]:7,}{'   warning: above its limit' if over and part in modules else ''}")
        if over and part in TOTALS:
            faults.append(f"{part}: {totals[part]:,} is above the limit of {limit:,}; remove as much as was added")
        if part in modules and part != "main" and totals[part] > CODE_PER_COMMENT * comments[part]:
            faults.append(f"{part}: {comments[part]} lines of comment for {totals[part]} of code; one in {CODE_PER_COMMENT} is the least")
    faults += [f"src/{part}: no limit; add it to src/modules.txt" for part in totals if part not in modules and part not in TOTALS]
    print(*faults, f"check_size: {len(faults)} offences", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(print(__doc__) if {"-h", "--help"} & {*sys.argv} else main())
