#!/usr/bin/env python3
"""What a long text costs: seconds and memory of the first steps, beside PyTorch from memory-mapped ids.

    scripts/measure/long_texts.py                          prints a table for 1, 100 and 1,000 MB; ten minutes, 20 GB of memory
    scripts/measure/long_texts.py --megabytes 100 --steps 500

The program: `chargpt bench train CONFIG --text FILE`, from the start of the process through reading the text to the last of so many steps. PyTorch: once per text
the ids are written to a file, character by character in Python as nanoGPT's prepare.py has it; then the peer of bench_pytorch.py makes as many steps, whose
windows come from that file, memory-mapped. Memory is the process's peak, pages of mapped files included. The text is tinyshakespeare, repeated.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import numpy
import torch

import bench_pytorch
from workbench import PROGRAM, ROOT, Program, cost_of, processor


def prepare(text, ids):
    """As prepare.py does: one dictionary, one list of all ids, an array of 16 bits each."""
    data = text.read_text(encoding="utf-8")
    id_of = {symbol: i for i, symbol in enumerate(sorted(set(data)))}
    numpy.array([id_of[symbol] for symbol in data], dtype=numpy.uint16).tofile(ids)


def train(checkpoint, ids, steps):
    """So many steps on windows of the first nine tenths."""
    class FromFile(bench_pytorch.Training):
        def splits(self, start, arguments):
            mapped = numpy.memmap(ids, dtype=numpy.uint16, mode="r")
            return Windows(mapped[: int(0.9 * len(mapped))]), None

    training = FromFile(bench_pytorch.Start(checkpoint), argparse.Namespace(device="cpu", dtype="float32", compile=False))
    for step in range(steps):
        training.update(step)


class Windows:
    """Slices of a mapped file as int64 tensors."""

    def __init__(self, ids):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, window):
        return torch.from_numpy(self.ids[window].astype(numpy.int64))


def row(options, checkpoint, size, folder):
    text, ids = folder / "text", folder / "ids"
    part = (ROOT / "data" / "tinyshakespeare.txt").read_bytes()
    with open(text, "wb") as file:
        for _ in range(1_000_000 * size // len(part) + 1):
            file.write(part)
    own = [options.program, "bench", "train", options.config, "--text", text, "--warmup", 1, "--steps", options.steps - 1, "--max_epochs", 0,
           "--max_iters", options.steps]
    peer = [sys.executable, __file__, "--checkpoint", checkpoint, "--ids", ids, "--steps", options.steps]
    costs = [cost_of(command) for command in (own, [*peer, "--prepare", text], peer)]
    return [f"{size:,} MB", *(figure for cost in costs for figure in (f"{cost.seconds:.1f}", f"{cost.peak / 1e6:,.0f}"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--config", default="default")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--steps", type=int, default=200)
    for name in ("--checkpoint", "--ids", "--prepare"):  # of the peer's own processes
        parser.add_argument(name, type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.prepare:
        return prepare(options.prepare, options.ids)
    if options.ids:
        return train(options.checkpoint, options.ids, options.steps)
    heads = ["text", "chargpt, s", "MB", "PyTorch: preparing, s", "MB", "steps, s", "MB"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for size in options.megabytes:
        with tempfile.TemporaryDirectory(dir=ROOT) as folder:
            run = pathlib.Path(folder) / "run"
            Program(options.program).run("train", options.config, "--text", ROOT / "data" / "tinyshakespeare.txt", "--run", run, "--max_iters", 1,
                                         "--eval_iters", 1, "--max_epochs", 0, "--sample_tokens", 0, "--quiet")
            print(f"| {' | '.join(row(options, run / 'checkpoints' / 'step-00000001.safetensors', size, pathlib.Path(folder)))} |", flush=True)
    print(f"\n{options.config}, {options.steps} steps, {torch.get_num_threads()} threads, PyTorch {torch.__version__}, {processor()}, {time.strftime('%F')}")


if __name__ == "__main__":
    main()
