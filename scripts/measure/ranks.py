#!/usr/bin/env python3
"""What training by several processes costs, and whether it trains the same: for each preset and number of ranks, milliseconds of a step, the part of
them spent in summing gradients, and the largest difference of a loss from one process's. Then latency and bandwidth of the transport, from models
of growing width. Prints tables.

    scripts/measure/ranks.py [--ranks N,N] [--steps N] [--mpirun "OPTIONS"] PRESET...

    --ranks    numbers of processes (default 1,2; with more of them than cores, times say nothing)
    --steps    steps of each run (default 200)
    --mpirun   options of mpirun, such as "--mca btl tcp,self" (the transport)

Each rank has one thread, as one process beside them has. $CHARGPT is the program (default build/chargpt). To be run with nothing else going on.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from workbench import PROGRAM, ROOT

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
QUIET = ["--sample_tokens", "0", "--log_interval", "1", "--eval_interval", "1000000", "--eval_iters", "1", "--threads", "1", "--quiet", "--patience", "0"]
# A model of one layer whose step is mostly its head: gradients of many sizes, little arithmetic.
WIDTHS = (64, 128, 256, 512)


class Runs:
    def __init__(self, folder, options, text):
        self.folder, self.options, self.text, self.count = folder, options, text, 0

    def train(self, ranks, config, *more):
        """Losses by step, milliseconds of a step (the median), milliseconds of it spent in summing, parameters."""
        self.count += 1
        run = self.folder / f"run-{self.count}"
        words = [PROGRAM, "train", config, "--text", self.text, "--run", run, "--max_epochs", "0", *QUIET, *more]
        if ranks > 1:
            words = ["mpirun", "-np", str(ranks), "--oversubscribe", *self.options, *words]
        process = subprocess.run(list(map(str, words)), env=ENVIRONMENT, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            sys.exit(process.stderr)
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        steps = [row for row in rows if row.get("tokens_per_second")]
        tokens = rows[0]["tokens_per_step"]
        state = json.loads((next((run / "checkpoints").glob("step-*")) / "state.json").read_text())
        spent = [1000 * tokens / row["tokens_per_second"] for row in steps[5:]]
        summing = [row["rank_seconds"] * 1000 for row in steps[5:]] if ranks > 1 else [0]
        return {row["step"]: row["loss"] for row in steps}, statistics.median(spent), statistics.median(summing), state["parameters"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--mpirun", default="")
    parser.add_argument("presets", metavar="PRESET", nargs="+")
    arguments = parser.parse_args()
    text = ROOT / "data" / "tinyshakespeare.txt"
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(pathlib.Path(folder), arguments.mpirun.split(), text if text.exists() else ROOT / "data" / "sample.txt")
        print("| preset | ranks | ms per step | of these summing | largest difference of a loss |\n|---|---|---|---|---|", flush=True)
        for preset in arguments.presets:
            alone = None
            for ranks in map(int, arguments.ranks.split(",")):
                losses, step, summing, _ = runs.train(ranks, preset, "--max_iters", arguments.steps)
                alone = alone or losses
                difference = max(abs(losses[i] - alone[i]) for i in alone)
                print(f"| `{preset}` | {ranks} | {step:.1f} | {summing:.2f} ({100 * summing / step:.0f} %) | {difference:.1e} |", flush=True)
        print("\n| parameters | MB summed | ms of summing, 2 ranks |\n|---|---|---|")
        points = []
        for width in WIDTHS:
            model = ["--n_layer", "1", "--n_head", "2", "--n_embd", width, "--block_size", "8", "--batch_size", "2", "--max_iters", "60"]
            _, _, summing, parameters = runs.train(2, "nanogpt-cpu", *model)
            points.append((4e-6 * parameters, summing))
            print(f"| {parameters:,} | {4e-6 * parameters:.2f} | {summing:.3f} |", flush=True)
        slope, at_zero = statistics.linear_regression(*zip(*points))
        print(f"\nlatency {at_zero:.3f} ms a step, {1 / slope:.2f} GB/s")


if __name__ == "__main__":
    main()
