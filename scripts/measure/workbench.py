"""What the scripts that measure share: the program, measurements in turns, and files that they write."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("CHARGPT", str(ROOT / "build" / "chargpt"))


class Program:
    def __init__(self, path=PROGRAM):
        self.path = path

    def run(self, *arguments, quiet=True):
        process = subprocess.run([self.path, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False,
                                 stderr=subprocess.PIPE if quiet else None)
        if process.returncode != 0:
            raise SystemExit(f"{pathlib.Path(sys.argv[0]).stem}: chargpt {' '.join(map(str, arguments))} ended with {process.returncode}"
                             + (f": {process.stderr.strip()}" if quiet else ""))
        return process.stdout

    def json(self, *arguments, **keywords):
        return json.loads(self.run(*arguments, "--json", **keywords))


def processor():
    """Its name, with the numbers that tell apart those that share it: "AMD EPYC, family 26, model 2"."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        of_first = dict(map(str.strip, line.split(":", 1)) for line in reversed(list(lines)) if ":" in line)
    if "model name" not in of_first:
        return os.uname().machine
    return ", ".join([of_first["model name"]] + [f"{number} {of_first[key]}" for number, key in (("family", "cpu family"), ("model", "model")) if key in of_first])


def in_turns(pairs, first, second):
    """The results of both, called A B B A and so on: a machine that slows down or speeds up favours neither, and a pair's two are neighbours in time."""
    results = [], []
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            results[side].append((first, second)[side]())
    return results


def replace_file(path, text):
    """Whole or not at all."""
    path = pathlib.Path(path)
    temporary = path.with_suffix(path.suffix + ".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def write_part(path, begin, end, text):
    """`text` between the lines `begin` and `end`, of which there must be one each; the rest of the file stays."""
    old = pathlib.Path(path).read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1:
        raise SystemExit(f"{path} needs one line {begin!r} and one {end!r}")
    before, rest = old.split(begin)
    replace_file(path, f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")
