#!/usr/bin/env python3
"""Runs the examples of READMEs and compares what they print with what the README shows.

A fenced ```sh block is an example, and its line before the fence says how it is run:
    <!-- run -->                         run; must end with 0
    <!-- run exit=65 -->                 must end with 65
    <!-- run with="--max_iters 20" -->   that is added to each command of the block that trains, to keep it short
    <!-- not run: why -->                shown only
A ```sh block without such a line is an offence: no example goes untested unnoticed. The next fence after an example, if
<!-- output --> stands before it, is a part of what it prints (stdout and stderr together), with … as transcript.py says.

The examples of a README run one after another in one temporary folder that has build/, configs/, data/ and scripts/ of the checkout
(read through links) and a runs/ of its own, so a later one may use the run of an earlier one; scripts/train.sh works in the checkout
as ever: give it with='--run "$PWD/runs/NAME"'. `chargpt` is on PATH.

    scripts/check/readme.py [README...]     default: that of the checkout and that of the ladder; $CHARGPT is the program (default build/chargpt)
"""

import dataclasses
import os
import pathlib
import re
import shlex
import sys

from transcript import ROOT, execute, pattern_of, workspace

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"<!--\s*(run|not run:|output)((?:(?!-->).)*)-->\s*\Z", re.DOTALL)
TRAINS = re.compile(r"^\s*(\S*chargpt\s+(train|compare)|(\./)?scripts/train\.sh)\b")


@dataclasses.dataclass
class Example:
    line: int
    script: str
    exit: int = 0
    output: str | None = None


class Offence(Exception):
    """What is wrong with the README, with its line."""


def marker_before(text, position):
    match = MARKER.search(text, max(0, position - 500), position)
    return (match[1], match[2].strip()) if match else (None, "")


def examples(text):
    """The examples to run, in order."""
    found, previous = [], None
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 1
        kind, options = marker_before(text, fence.start())
        if kind == "output":
            if previous is None or previous.output is not None:
                raise Offence(f"line {line}: an output without an example before it")
            previous.output = fence[2]
        elif fence[1] in ("sh", "bash", "console"):
            if kind is None or (kind == "not run:" and not options):
                raise Offence(f"line {line}: an example without <!-- run --> or <!-- not run: why -->")
            previous = example(line, fence[2], options) if kind == "run" else None
            found += [previous] if previous else []
    return found


def example(line, script, options):
    made = Example(line, script)
    for option in shlex.split(options):
        key, _, value = option.partition("=")
        if key == "exit":
            made.exit = int(value)
        elif key == "with":
            made.script = "".join(with_arguments(command, value) for command in script.splitlines(keepends=True))
        else:
            raise Offence(f"line {line}: unknown option {key} of <!-- run -->")
    return made


def with_arguments(command, arguments):
    """`command # why` of a training -> `command arguments # why`."""
    if not TRAINS.match(command):
        return command
    code, hash_mark, comment = command.rstrip("\n").partition(" #")
    return f"{code.rstrip()} {arguments}{hash_mark}{comment}\n"


def run(one, folder, environment):
    """None, or what went wrong."""
    code, printed = execute("set -e\n" + one.script, folder, environment)
    if code != one.exit:
        return f"ended with {code}, not {one.exit}, and printed:\n{printed}"
    if one.output is not None and not pattern_of(one.output).search(printed):
        return f"printed:\n{printed}\nbut the README shows:\n{one.output}"
    return None


def check(readme, program):
    failures = 0
    with workspace(program, "build", "configs", "data", "scripts") as (folder, environment):
        to_run = examples(readme.read_text(encoding="utf-8"))
        for one in to_run:
            problem = run(one, folder, environment)
            print(f"{readme}:{one.line}: {'ok' if problem is None else problem}", flush=True)
            failures += problem is not None
    print(f"check_readme: {len(to_run)} examples, {failures} failures")
    return failures


def main():
    readmes = [pathlib.Path(word) for word in sys.argv[1:]] or [ROOT / "README.md", ROOT / "configs/ladder/README.md"]
    program = pathlib.Path(os.environ.get("CHARGPT", ROOT / "build" / "chargpt")).resolve()
    failures = 0
    for readme in readmes:
        try:
            failures += check(readme, program)
        except (Offence, OSError) as problem:
            print(f"{readme}: {problem}")
            failures += 1
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(print(__doc__) if {"-h", "--help"} & {*sys.argv} else main())
