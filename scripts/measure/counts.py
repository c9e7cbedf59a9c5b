#!/usr/bin/env python3
"""What counts cost: seconds and memory of counting a text, and of mixing counts with a network, for texts of 1, 10 and 100 MB.

    scripts/measure/counts.py                      prints a table; about ten minutes
    scripts/measure/counts.py --folder /usr/share  the texts: all ASCII files below these folders, the largest first (default: /usr/include, /usr/lib/python3, /usr/share)

The network is `quick`, trained for a few steps: the cost does not depend on what it has learned. Seconds (of the processor) and memory of counting are those
of `sample` with --counts less those without; microseconds for each character are those of `eval` on 100,000 held-out characters.
"""

import argparse
import pathlib
import re
import tempfile

from workbench import PROGRAM, Program, cost_of, processor

SCORED, WRITTEN = 100_000, 4000  # characters


def text_of(folders, size):
    """`size` bytes of different files; an error where there are too few."""
    paths = [path for folder in folders for path in pathlib.Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]
    parts, left = {}, size
    for path in sorted(paths, key=lambda path: (-path.stat().st_size, path)):
        data = path.read_bytes()
        if left > 0 and data not in parts and data.isascii() and b"\0" not in data:
            parts[data] = None
            left -= len(data)
    if left > 0:
        raise SystemExit(f"counts.py: {' '.join(folders)} hold {size - left:,} bytes of ASCII text; give more with --folder")
    return b"".join(parts)[:size]


class Run:
    """One text, and a network trained on it for a few steps."""

    def __init__(self, program, text, folder, threads):
        self.program, self.run, self.threads = program, folder / "run", ["--threads", threads]
        (folder / "text").write_bytes(text)
        program.run("train", "quick", "--text", folder / "text", "--run", self.run, "--overwrite", "--max_iters", 20, "--max_epochs", 0,
                    "--max_val_tokens", SCORED, *self.threads)

    def sampled(self, *options):
        """Processor seconds and peak bytes, and characters a second."""
        command = [self.program.path, "sample", self.run, "--tokens", WRITTEN, "--verbose", *self.threads, *options]
        cost = cost_of(command)
        return cost.processor_seconds, cost.peak, int(re.search(r"(\d+) a second", cost.told)[1])

    def scored(self, *options):
        """Microseconds for each character."""
        figures = self.program.json("eval", self.run, *self.threads, *options)
        return 1e6 * figures["scoring_seconds"] / figures["tokens"]

    def row(self, name):
        alone, mixed = self.sampled(), self.sampled("--counts")
        counting = mixed[0] - alone[0] - WRITTEN / mixed[2] + WRITTEN / alone[2]  # without what writing takes longer
        each = [self.scored(*options) for options in ((), ("--counts",), ("--adapt",), ("--adapt", "--counts"))]
        return [name, f"{counting:.1f}", f"{(mixed[1] - alone[1]) / 1e6:.0f}", *(f"{one:.0f}" for one in each), f"{alone[2]:,}", f"{mixed[2]:,}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--folder", action="append")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    text = text_of(arguments.folder or ["/usr/include", "/usr/lib/python3", "/usr/share"], 1_000_000 * max(arguments.megabytes))
    heads = ["text", "counting, s", "MB", "scoring, µs each: network", "`--counts`", "`--adapt`", "both", "written a second: network", "`--counts`"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for size in arguments.megabytes:
        with tempfile.TemporaryDirectory() as folder:
            run = Run(Program(arguments.program), text[:1_000_000 * size], pathlib.Path(folder), arguments.threads)
            print(f"| {' | '.join(run.row(f'{size} MB'))} |", flush=True)
    print(f"\n{processor()}")


if __name__ == "__main__":
    main()
