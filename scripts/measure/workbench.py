"""What the scripts that measure share: the program and its command line, measurements in turns, and the parts of READMEs that they write. Knows
no measurement."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

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


Cost = collections.namedtuple("Cost", "seconds processor_seconds peak told")


def cost_of(command):
    """Of a command: seconds, those of its processors, its peak of memory in bytes, and what it said on stderr."""
    peak, ended = 0, 0
    with tempfile.TemporaryFile("w+") as told:
        begun = time.perf_counter()
        process = subprocess.Popen([*map(str, command)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=told)
        while ended == 0:  # ru_maxrss would be this script's own, which the child begins with
            now = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max([peak, *map(int, re.findall(r"VmHWM:\s*(\d+) kB", now))])
            time.sleep(0.01)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds = time.perf_counter() - begun
        told.seek(0)
        if status != 0:
            raise SystemExit(f"{pathlib.Path(sys.argv[0]).stem}: {' '.join(map(str, command))} failed: {told.read().strip()}")
        return Cost(seconds, usage.ru_utime + usage.ru_stime, 1024 * peak, told.read())


def in_turns(pairs, first, second):
    """The results of both, called A B B A and so on: a machine that slows down or speeds up favours neither, and a pair's two are neighbours in time."""
    results = [], []
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            results[side].append((first, second)[side]())
    return results


def parser_for(doc, name, others):
    """Of a script that measures on texts: --program, --text (in place of `others`), --threads, --work (runs/NAME unless it is given) and --print."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--text", action="append", metavar="NAME=FILE", help=f"this text, not those of the {others}; may be repeated")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "runs" / name)
    parser.add_argument("--print", action="store_true", help="write no table")
    return parser


def parsed(parser):
    """The options, with the folder `work` made, and the texts given by --text: (name, path)."""
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    given = [entry.split("=", 1) for entry in options.text or []]
    return options, [(name, pathlib.Path(path).resolve()) for name, path in given]


def refuse_unknown(only, names):
    """A name of --only that is none of the texts."""
    for name in only or []:
        if name not in names:
            raise SystemExit(f"--only {name}: no such text; there is {', '.join(names)}")


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
