#!/usr/bin/env python3
"""How the cost of a training step grows with the model: both engines, from small to large, with one thread and more.

    scripts/measure/sizes.py                       writes the table into src/engine/README.md, between its markers
    scripts/measure/sizes.py --print               prints it alone

nanogpt-cpu with other sizes, by `chargpt bench train`; the engines take turns (A B B A), and the median of the ratios of neighbours
counts. The share of the peak is the cpu engine's, of float32's, measured in the same process.
"""

import argparse
import datetime
import json
import statistics

from workbench import PROGRAM, ROOT, Program, in_turns, write_part

BEGIN, END = "<!-- sizes: begin (scripts/measure/sizes.py writes this table) -->", "<!-- sizes: end -->"
# layers, width, tokens of a window, windows
SIZES = [(2, 64, 32, 8), (2, 64, 64, 12), (4, 128, 64, 1), (4, 128, 64, 12), (6, 64, 128, 8), (6, 96, 128, 8), (4, 192, 128, 16),
         (6, 192, 256, 8), (6, 384, 256, 8)]  # fmt: skip
SECONDS = 2.0  # of steps in one measurement, about


class Bench:
    def __init__(self, program, size, threads):
        layers, width, block, batch = size
        self.program = program
        self.options = ["--n_layer", layers, "--n_embd", width, "--n_head", max(1, width // 32), "--block_size", block, "--batch_size", batch,
                        "--threads", threads]  # fmt: skip

    def run(self, engine, steps):
        return self.program.json("bench", "train", "nanogpt-cpu", *self.options, "--engine", engine, "--steps", steps, "--warmup", max(2, steps // 10))

    def row(self, pairs):
        steps = max(5, min(2000, round(1e3 * SECONDS / self.run("cpu", 5)["ms_per_step"]["median"])))
        mine, reference = in_turns(pairs, lambda: self.run("cpu", steps), lambda: self.run("libtorch", steps))
        figures = {"cpu": mine, "libtorch": reference}
        times = {engine: [figure["ms_per_step"]["median"] for figure in measured] for engine, measured in figures.items()}
        return {"ms": statistics.median(times["cpu"]),
                "ratio": statistics.median(a / c for a, c in zip(times["libtorch"], times["cpu"])),
                "share": statistics.median(figure["fraction_of_peak"] for figure in figures["cpu"])}  # fmt: skip


def milliseconds(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def table(rows):
    """A line for each size, in it three cells for each number of threads."""
    counts = sorted({threads for _, threads, _ in rows})
    heads = ["layers", "width", "window", "windows"]
    cells = {size: [str(number) for number in size] for size in SIZES}
    for threads in counts:
        heads += [f"{threads} thread{'s' * (threads > 1)}: ms", "libtorch / cpu", "of the peak"]
        for size, _, row in (one for one in rows if one[1] == threads):
            cells[size] += [milliseconds(row["ms"]), f"{row['ratio']:.2f}", f"{100 * row['share']:.0f} %"]
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, ["---"] * len(heads), *cells.values()]).replace(" --- ", "---")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--print", action="store_true", help="write no file")
    arguments = parser.parse_args()
    rows = []
    for threads in arguments.threads:
        for size in SIZES:
            row = Bench(Program(arguments.program), size, threads).row(arguments.pairs)
            rows.append((size, threads, row))
            print(json.dumps({"size": size, "threads": threads, **row}), flush=True)
    text = f"{table(rows)}\n\n`scripts/measure/sizes.py`, {arguments.pairs} pairs, {datetime.date.today()}."
    if arguments.print:
        print(text)
    else:
        write_part(ROOT / "src/engine/README.md", BEGIN, END, text)


if __name__ == "__main__":
    main()
