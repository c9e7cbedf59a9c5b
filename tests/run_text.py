#!/usr/bin/env python3
"""Runs command-line tests that are text, and compares what each command prints with the output below it.

    tests/run_text.py FILE...       $CHARGPT is the program (default: build/chargpt); UPDATE=1 rewrites the expected outputs

    # A comment says what the next command shows.
    $ printf 'abc\\n' > short.txt
    65$ chargpt train ladder/bigram --text short.txt
    chargpt: error: the text has 4 tokens, …

`$ ` begins a command for bash, `> ` continues it, and an exit code other than 0 is written before `$`. The output (stdout and stderr
together) is all that follows, up to the next command or comment, without blank lines at its end. In it … matches any characters,
a line that is … alone matches any lines, and a run of blanks any blanks. Lines of progress, which only a slow machine prints, are ignored.
The commands of a file run one after another in one temporary folder, which has data/sample.txt; each has a shell of its own.
UPDATE=1 leaves what matches. In an output that does not match it keeps each line that still fits, with the … before it.
"""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts/check"))
from transcript import ROOT, execute, pattern_of, workspace  # noqa: E402 (found by the line above)

CASE = re.compile(r"^(?P<code>\d*)\$ (?P<command>.*(?:\n> .*)*)\n(?P<expected>(?:(?!\d*\$ |# ).*\n)*)", re.MULTILINE)
PROGRESS = re.compile(r"^(chargpt: )?(.*: \d+ %|.* starting|reading the text: .*|step [\d,]+( of [\d,]+| \(\d+ %\))  loss (?!.*  after ).*tokens/s)\n", re.MULTILINE)


def updated(expected, printed):
    """The printed lines; … stays before a line of `expected` that is among them."""
    lines, rest, skipped = [], printed.splitlines(), False
    for line in expected.splitlines():
        if line.strip() == "…":
            skipped = True
            continue
        at = next((i for i, other in enumerate(rest) if pattern_of(line).fullmatch(other + "\n")), None)
        if at is not None:
            lines += [*(["…"] if skipped else rest[:at]), line]
            rest = rest[at + 1:]
        skipped = False
    return lines + (["…"] if skipped else rest)


def check(path, program):
    """How many commands of a file do not print or exit as it says."""
    text, failures = path.read_text(encoding="utf-8"), 0
    with workspace(program, "data/sample.txt") as (folder, environment):
        def run(case):
            nonlocal failures
            expected, wanted = case["expected"].rstrip("\n"), int(case["code"] or 0)
            code, printed = execute(case["command"].replace("\n> ", "\n"), folder, environment)
            printed = PROGRESS.sub("", printed)
            if code == wanted and pattern_of(expected).fullmatch(printed.rstrip("\n") + "\n" if printed.strip("\n") else ""):
                return case[0]
            failures += 1
            line = text.count("\n", 0, case.start()) + 1
            print(f"{path.relative_to(ROOT)}:{line}: {case['command']}\nexpected (exit code {wanted}):\n{expected}\n"
                  f"actual (exit code {code}):\n{printed}", flush=True)
            blank_lines = case["expected"][len(expected) + bool(expected):]
            return "\n".join([f"{code or ''}$ {case['command']}", *updated(expected, printed.rstrip("\n")), blank_lines])

        rewritten = CASE.sub(run, text)
    if os.environ.get("UPDATE") == "1":
        path.write_text(rewritten, encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {len(CASE.findall(text))} commands, {failures} failures")
    return failures


def main():
    program = pathlib.Path(os.environ.get("CHARGPT", ROOT / "build/chargpt")).resolve()
    failures = [check(pathlib.Path(name).resolve(), program) for name in sys.argv[1:]]
    return 1 if any(failures) or not failures else 0


if __name__ == "__main__":
    sys.exit(main())
