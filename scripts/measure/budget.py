#!/usr/bin/env python3
"""How much of `train --max_seconds` is used, beside a busy neighbour, and what the last weights are worth.

  scripts/measure/budget.py [--program build/chargpt] [--config quick] [--seconds 10 60 300] [--neighbours none first last random]
                            [-- further arguments of train]

One line a training: the time from process start to the last save as a share of the budget (by the clock of the file system), steps, validation
loss of the last weights.
A config with patience may end before its seconds do: give -- --patience 0.
A neighbour is one busy process a core, for the first third, the last third, or random seconds that make up half of the budget.
"""
import argparse
import glob
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time


def spin(until):
    while time.monotonic() < until:
        sum(range(10_000))


def busy_intervals(neighbour, seconds):
    """[(begin, end)] in seconds from the start."""
    if neighbour == "first":
        return [(0, seconds / 3)]
    if neighbour == "last":
        return [(2 * seconds / 3, 1.1 * seconds)]
    if neighbour == "random":
        draw = random.Random(f"{seconds}")
        length = max(1.0, seconds / 20)
        return [(begin * length, (begin + 1) * length) for begin in range(20) if draw.random() < 0.5]
    return []


def be_neighbour(intervals, started):
    for begin, end in intervals:
        time.sleep(max(0.0, started + begin - time.monotonic()))
        cores = [multiprocessing.Process(target=spin, args=(started + end,)) for _ in range(os.cpu_count())]
        for core in cores:
            core.start()
        for core in cores:
            core.join()


def last_evaluation(run):
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as lines:
        return [event for event in map(json.loads, lines) if event.get("kind") == "eval"][-1]


def train(arguments, run, options, neighbour=(), seconds=0):
    started, wall = time.monotonic(), time.time()
    other = multiprocessing.Process(target=be_neighbour, args=(busy_intervals(neighbour, seconds), started))
    other.start()
    command = [arguments.program, "train", arguments.config, "--run", run, "--quiet", *options, *arguments.further]
    finished = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    other.join()
    if finished.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {finished.returncode}")
    return max(map(os.path.getmtime, glob.glob(os.path.join(run, "checkpoints", "step-*.safetensors")))) - wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/chargpt")
    parser.add_argument("--config", default="quick")
    parser.add_argument("--seconds", nargs="+", type=float, default=[10, 60, 300])
    parser.add_argument("--neighbours", nargs="+", default=["none", "first", "last", "random"], choices=["none", "first", "last", "random"])
    parser.add_argument("further", nargs="*")
    arguments = parser.parse_args()
    print(f"{'budget':>7} {'neighbour':>9} {'share':>6} {'steps':>7} {'loss':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        for seconds in arguments.seconds:
            for neighbour in arguments.neighbours:
                run = os.path.join(scratch, f"{arguments.config}-{seconds:g}-{neighbour}")
                used = train(arguments, run, ["--max_seconds", f"{seconds:g}"], neighbour, seconds)
                last = last_evaluation(run)
                print(f"{seconds:7g} {neighbour:>9} {used / seconds:6.3f} {last['step']:7d} {last['val_loss']:7.4f}", flush=True)


if __name__ == "__main__":
    main()
