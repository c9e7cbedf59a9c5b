#!/usr/bin/env python3
"""Checks and measures chargpt on one GPU in nine minutes. Each result is a line of FOLDER/results.txt as soon as it exists.

    scripts/check/gpu.py [PART...] [--build FOLDER] [--out FOLDER] [--device cuda:N] [--seconds 540]
    scripts/check/gpu.py --device cpu       a rehearsal: tiny models, few steps, LibTorch on the CPU

Parts, in this order: machine, tests ([cuda] cases), losses (ten steps beside the CPU's), repeat (bit for bit), train (nanogpt-gpu; sample,
evaluate, resume, continue on the CPU), refused, precision (a step in three precisions), pytorch (a step beside the peer's, eager and compiled),
seeds (three of the preset gpu). What no time is left for is listed as left out. Needs a build against a CUDA LibTorch
(scripts/check/cuda_build.sh --build) and, for pytorch, a python3 with transformers whose torch uses the GPU. Exit status: 0 all held, 1 not, 69 no GPU.
"""

import argparse
import glob
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Nats between a GPU and a CPU: of equal weights, and after ten updates, when rounding has grown. The preset gpu's most, three seeds.
SAME_WEIGHTS, TENTH_UPDATE, GPU_PRESET = 1e-4, 2e-2, 1.45


class Failed(Exception):
    pass


def require(condition, detail):
    if not condition:
        raise Failed(detail)


def run(*command, status=0, most=240):
    """Its standard output; what it wrote goes to the log of the part."""
    command = [str(word) for word in command]
    limit = min(most, deadline - time.monotonic())
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False, timeout=max(1, limit))
    except subprocess.TimeoutExpired as slow:
        raise Failed(f"still running after {limit:.0f} s: {' '.join(command)}") from slow
    print("$", *command, "\n" + done.stdout[-20000:] + done.stderr[-20000:], file=log, flush=True)
    require(done.returncode == status, f"exit {done.returncode} of {' '.join(command)}: {done.stderr.strip()[-300:]}")
    return done.stdout if status == 0 else done.stderr


def chargpt(*arguments, **keywords):
    return run(given.build / "chargpt", *arguments, **keywords)


def train(name, preset, *more, on=(), **keywords):
    folder = given.out / name
    chargpt("train", preset, "--run", folder, "--overwrite", *text, *(on or device), *small, *more, "--quiet", **keywords)
    return folder


def rows(folder, kind):
    return [row for row in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines()) if row["kind"] == kind]


def checkpoints(folder):
    return sorted((folder / "checkpoints").glob("step-*"))


def same_bits(one, other):
    """Of every tensor: those of the bytes after the header, which names the run."""
    body = lambda data: data[8 + int.from_bytes(data[:8], "little"):]
    return body(checkpoints(one)[-1].read_bytes()) == body(checkpoints(other)[-1].read_bytes())


def machine():
    name = "the CPU" if rehearsal else run("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader").strip()
    yield f"{name}; {chargpt('--version').splitlines()[0]}"


def tests():
    for program in ("torch",) if rehearsal else ("torch", "training"):
        printed = run(given.build / f"tests/test_{program}", "*gradient*" if rehearsal else "[cuda]")
        cases = re.search(r"All tests passed \((\d+) assertions? in (\d+) test cases?\)", printed)
        require(cases, f"no case of test_{program} ran")
        yield f"test_{program}: {cases[2]} cases, {cases[1]} assertions"


def losses():
    short = ["--max_iters", 10, "--warmup_iters", 2, "--eval_iters", 1, "--log_interval", 1, "--sample_tokens", 0, "--dropout", 0, "--dtype", "float32",
             *([] if rehearsal else ["--batch_size", 4])]
    for preset in ("default", "gpu", "nanogpt-gpu"):
        here, there = ([row["loss"] for row in rows(train(f"losses-{where}", preset, *short, on=on), "train")]
                       for where, on in (("device", device), ("cpu", ["--device", "cpu", "--engine", "libtorch"])))
        off = [abs(a - b) for a, b in zip(here, there, strict=True)]
        detail = f"{preset}: off by {off[0]:.1e} in the first step, {max(off):.1e} at most in ten"
        require(len(off) == 10 and off[0] <= SAME_WEIGHTS and max(off) <= TENTH_UPDATE, detail)
        yield detail


def repeat():
    few = ["--max_iters", 20, "--eval_interval", 10, "--eval_iters", 1, "--sample_tokens", 0, "--warmup_iters", 2]
    for preset in ("default", "gpu", "nanogpt-gpu"):
        require(same_bits(train("once", preset, *few), train("again", preset, *few)), f"{preset}: two runs of 20 steps differ")
        yield f"{preset}: 20 steps twice, the same bits"


def train_part():
    steps = ["--max_iters", 100, "--eval_interval", 50, "--warmup_iters", 1] if rehearsal else []
    begun = time.monotonic()
    folder = train("nanogpt-gpu", "nanogpt-gpu", "--keep", 2, "--dtype", "float32" if rehearsal else "bfloat16", *steps)
    found, last = [row["val_loss"] for row in rows(folder, "eval")], rows(folder, "train")[-1]
    yield f"{last['step']} steps in {last['seconds']:.1f} s, {time.monotonic() - begun:.1f} s in all; val {found[0]:.4f} to {found[-1]:.4f}, lowest {min(found):.4f}"
    texts = {chargpt("sample", folder, "--tokens", 300, "--seed", 5, "--quiet") for _ in range(2)}
    require(len(texts) == 1 and len(texts.pop()) > 300, "one seed gave two texts, or a short one")
    yield "sample: 300 characters, twice the same"
    mine = json.loads(chargpt("eval", folder, "--checkpoint", "last", "--weights", "trained", "--json", "--quiet"))["loss"]
    require(abs(mine - found[-1]) <= SAME_WEIGHTS, f"evaluated {found[-1]:.6f}, on the CPU {mine:.6f}")
    yield f"evaluated {found[-1]:.6f}, on the CPU {mine:.6f}"
    for name in ("resumed", "on-the-cpu"):
        shutil.rmtree(given.out / name, ignore_errors=True)
        shutil.copytree(folder, given.out / name)
    checkpoints(given.out / "resumed")[-1].unlink()
    chargpt("resume", given.out / "resumed", *device, "--quiet")
    require(same_bits(folder, given.out / "resumed"), "the resumed run ends in other bits")
    yield f"resumed from {checkpoints(folder)[-2].stem} to {checkpoints(folder)[-1].stem}: the same bits"
    more = ["--max_iters", last["step"] + 2, "--eval_iters", 1, "--patience", 0, "--log_interval", 1, "--quiet"]
    chargpt("resume", given.out / "on-the-cpu", "--device", "cpu", *more)
    after = rows(given.out / "on-the-cpu", "train")[-1]["loss"]
    require(abs(after - last["loss"]) < 0.5, f"on the CPU the loss went from {last['loss']} to {after}")
    yield f"continued on the CPU: loss {last['loss']:.3f} to {after:.3f}"


def refused():
    large = [*device, "--batch_size", 65536]
    for status, more in [(81, large)] + ([] if rehearsal else [(69, ["--device", "cuda:99"])]):
        printed = chargpt("train", "nanogpt-gpu", "--run", given.out / "refused", *text, *more, "--quiet", status=status)
        lines = [line for line in printed.splitlines() if "error" in line]
        require(len(lines) == 1 and not (given.out / "refused").exists(), f"{len(lines)} lines say error, or a run folder was made")
        yield lines[0]


def precision():
    for preset in ("default", "nanogpt-gpu", "gpu"):
        for dtype in ("float32",) if rehearsal else ("float32", "tf32", "bfloat16"):
            steps = ["--warmup", 2, "--steps", 4] if rehearsal else ["--warmup", 20, "--steps", 60]
            found = json.loads(chargpt("bench", "train", preset, *text, *device, *small, "--dtype", dtype, *steps, "--json"))
            yield f"{preset} in {dtype}: {found['ms_per_step']['median']:.2f} ms, {found['gflop_per_step'] / found['ms_per_step']['median']:.1f} TFLOP/s"


def pytorch():
    sets = [f"--set={name[2:]}={value}" for name, value in zip(small[::2], small[1::2]) if name != "--engine"]
    steps = ["--pairs", 1, "--steps", 2, "--warmup", 1] if rehearsal else ["--pairs", 1, "--steps", 200, "--dtype", "bfloat16"]
    for way in ([], ["--compile"]):
        found = json.loads(run(sys.executable, ROOT / "scripts/measure/bench_pytorch.py", "nanogpt-gpu", "--program", given.build / "chargpt", *device[:2],
                               *text, *sets, *steps, *way))
        yield f"{found['pytorch']} {found['pytorch_ms']} ms, chargpt {found['chargpt_ms']} ms, ratio {found['ratio']['median']}"


def seeds():
    steps = ["--max_iters", 20, "--eval_interval", 20, "--warmup_iters", 1, "--dtype", "float32"] if rehearsal else []
    chargpt("compare", "gpu", "--seeds", 3, "--out", given.out / "seeds", *text, *device, *small, *steps, most=300)
    found = [row["loss"] for row in json.loads((given.out / "seeds/compare.json").read_text())["results"][0]["seeds"]]
    detail = f"{', '.join(f'{loss:.4f}' for loss in found)}; mean {sum(found) / len(found):.4f}"
    require(len(found) == 3 and (rehearsal or sum(found) / 3 <= GPU_PRESET), detail)
    yield detail


PARTS = {"machine": machine, "tests": tests, "losses": losses, "repeat": repeat, "train": train_part, "refused": refused, "precision": precision,
         "pytorch": pytorch, "seeds": seeds}


def report(part, verdict, detail):
    line = f"{verdict:8} {time.monotonic() - begin:6.1f} s  {part}: {detail}"
    for file in (sys.stdout, results):
        print(line, file=file, flush=True)
    return verdict == "FAILED"


def results_of(part):
    """Number of results that did not hold."""
    if time.monotonic() > deadline - 15:
        return report(part, "left out", "no time was left")
    try:
        for detail in PARTS[part]():
            report(part, "held", detail)
    except (Failed, KeyError, ValueError, IndexError, OSError) as failure:
        return report(part, "FAILED", f"{type(failure).__name__} {failure}")
    return 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("part", nargs="*", choices=[[], *PARTS])
parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-cuda")
parser.add_argument("--out", type=pathlib.Path, default=ROOT / "runs" / time.strftime("gpu-%Y%m%d-%H%M%S"))
parser.add_argument("--device", default="cuda")
parser.add_argument("--text", type=pathlib.Path, default=ROOT / "data/tinyshakespeare.txt")
parser.add_argument("--seconds", type=float, default=540)
given = parser.parse_args()
given.build, given.out = given.build.resolve(), given.out.resolve()
rehearsal = given.device == "cpu"
if not rehearsal and not glob.glob("/dev/nvidia[0-9]*"):
    print("gpu.py: no GPU here (no /dev/nvidia0); --device cpu rehearses", file=sys.stderr)
    sys.exit(69)
begin = time.monotonic()
deadline = begin + given.seconds
text, device = ["--text", given.text], ["--device", given.device] + (["--engine", "libtorch"] if rehearsal else [])
small = ["--n_layer", 1, "--n_head", 2, "--n_embd", 16, "--block_size", 16, "--batch_size", 4] if rehearsal else []
given.out.mkdir(parents=True, exist_ok=True)
with open(given.out / "log.txt", "a", encoding="utf-8") as log, open(given.out / "results.txt", "a", encoding="utf-8") as results:
    sys.exit(min(1, sum(results_of(part) for part in given.part or PARTS)))
