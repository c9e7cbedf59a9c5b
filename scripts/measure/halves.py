#!/usr/bin/env python3
"""How often the difference of two parts of a real text lies within the two intervals: the table in src/evaluate/README.md.

    scripts/measure/halves.py                     every text below; writes the table
    scripts/measure/halves.py --text mine=FILE    a text of one's own; prints its table

Needs NumPy and SciPy. `chargpt compare` trains the presets below on the first half of each text and keeps the loss of every character of
the second half (val_losses.f32 in each run). That half is cut into parts of one length, and pairs of parts are compared: neighbours, and
parts with one part between them. Both are of one kind of text, so their difference should be 0 within its half width, the root of the squares of the
two. The intervals are those of scripts/reference/intervals.py; each run's own, printed by `chargpt compare`, is compared with it first.

Trained runs are kept in --work; the same command uses them again. Texts differ between machines, since packages do.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import sysconfig

import numpy as np

from marked_part import write_part
from measured_texts import parsed, parser_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts/reference"))
from intervals import half_width

BEGIN, END = "<!-- halves: begin (scripts/measure/halves.py writes this table) -->", "<!-- halves: end -->"
PRESETS = ["quick", "nanogpt-cpu"]
STEPS, LONGEST = 400, 2_000_000
LENGTHS = [10_000, 20_000, 50_000, 100_000, 250_000]
STDLIB = pathlib.Path(sysconfig.get_path("stdlib"))
# Name -> folder and patterns of its files, in order of name.
TEXTS = {
    "tinyshakespeare": (ROOT / "data", ["tinyshakespeare.txt"]),
    "Python's standard library": (STDLIB, ["*.py", "[a-z]*/**/*.py"]),
    "licences": (pathlib.Path("/usr/share"), ["common-licenses/*", "doc/*/copyright"]),
    "C headers": (pathlib.Path("/usr/include"), ["**/*.h"]),
}


def text_of(folder, patterns):
    """The files' text, each once, as far as it is UTF-8; none of packages that were installed beside the standard library."""
    parts, length = [], 0
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and not path.is_symlink() and "site-packages" not in path.parts and length < LONGEST:
                try:
                    parts.append(path.read_text(encoding="utf-8"))
                except UnicodeDecodeError:
                    continue
                length += len(parts[-1])
    return "".join(parts)[:LONGEST]


def write_text(name, work):
    path = work / f"{name.replace(' ', '-').replace(chr(39), '')}.txt"
    if not path.exists():
        path.write_text(text_of(*TEXTS[name]), encoding="utf-8")
    return path


def train(path, options):
    """The losses of each preset on the second half of the text, checked against the interval that the program prints."""
    out = options.work / path.stem
    if not (out / "compare.json").exists():
        subprocess.run([options.program, "compare", *PRESETS, "--seeds", "1", "--max_iters", str(STEPS), "--lr_decay_iters", "0",
                        "--eval_interval", str(STEPS), "--val_fraction", "0.5", "--max_val_tokens", str(LONGEST), "--text", path,
                        "--threads", str(options.threads), "--quiet", "--out", out], check=True, stdout=subprocess.DEVNULL)
    for result in json.loads((out / "compare.json").read_text())["results"]:
        losses = np.fromfile(pathlib.Path(result["seeds"][0]["run"]) / "val_losses.f32", dtype="<f4")
        check_interval(path.stem, result, half_width(losses))
        yield losses


def check_interval(name, result, half):
    printed = result["ci95"]
    if (printed is None) != (half is None) or (printed and abs(printed[1] - result["mean"] - half) > 1e-4 * half):
        raise SystemExit(f"{name}, {result['config']}: the program says {printed} around {result['mean']:.6f}, the reference ± {half}")


class Pairs:
    """Of one length and distance."""

    def __init__(self):
        self.held, self.missed, self.unsaid, self.half_widths = 0, 0, 0, []

    def add(self, a, b):
        halves = half_width(a), half_width(b)
        if None in halves:
            self.unsaid += 1
            return
        self.half_widths.append(math.hypot(*halves))
        if abs(a.mean(dtype=float) - b.mean(dtype=float)) <= self.half_widths[-1]:
            self.held += 1
        else:
            self.missed += 1

    def cells(self):
        said = self.held + self.missed
        share = f"{self.held} of {said}" + (f" ({100 * self.held / said:.1f} %)" if said >= 20 else "")
        return [share, str(self.unsaid), f"{np.median(self.half_widths):.3f}" if said else "–"]


def measure(losses, length, distance, pairs):
    span = (distance + 1) * length
    for begin in range(0, len(losses) - span + 1, span):
        pairs.add(losses[begin:begin + length], losses[begin + span - length:begin + span])


def main():
    options, own = parsed(parser_for(__doc__, "measure_halves", "machine"))
    texts = own or [(name, write_text(name, options.work)) for name in TEXTS]
    table = {(length, distance): Pairs() for length in LENGTHS for distance in (1, 2)}
    about = []
    for name, path in texts:
        for losses in train(path, options):
            for (length, distance), pairs in table.items():
                measure(losses, length, distance, pairs)
        about.append(f"{name} ({len(losses):,} characters scored)")
    lines = ["| characters in a part | neighbours: hold | cannot say | half width | one part between: hold | cannot say | half width |",
             "|---|---|---|---|---|---|---|"]
    lines += [f"| {length:,} | {' | '.join(table[length, 1].cells() + table[length, 2].cells())} |" for length in LENGTHS]
    lines += ["", f"`scripts/measure/halves.py`, {datetime.date.today()}: {', '.join(about)}; presets {' and '.join(PRESETS)}, {STEPS} steps each."]
    if own or options.print:
        print("\n".join(lines))
    else:
        write_part(ROOT / "src" / "evaluate" / "README.md", BEGIN, END, "\n".join(lines))


if __name__ == "__main__":
    main()
