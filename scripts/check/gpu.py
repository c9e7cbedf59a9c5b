#!/usr/bin/env python3
"""One check of scripts/check_gpu.sh, which calls this with a limit of time and keeps what it prints. Ends with 0 where it held; its last line,
which begins with "= ", is for the list.

    gpu.py tests PROGRAM                                  the [cuda] cases of a test program: there are some, and they pass
    gpu.py train CHARGPT CONFIG RUN DEVICE [OPTION…]      trains; the loss falls, and is the CPU's where that was measured
    gpu.py repeat CHARGPT CONFIG RUN [OPTION…]            two short runs have the same weights
    gpu.py resume CHARGPT RUN DEVICE [OPTION…]            from the checkpoint before the last the run ends in the same weights
    gpu.py sample CHARGPT RUN                             one seed, one text, by the CPU
    gpu.py evaluate CHARGPT RUN                           the loss of the last checkpoint that the run found is the CPU's
    gpu.py go_on CHARGPT RUN                              the run goes on on the CPU
    gpu.py losses CHARGPT CONFIG RUN DEVICE [OPTION…]     the first steps' losses are the CPU's
    gpu.py refused CHARGPT RUN STATUS [OPTION…]           train ends at once with that exit status, one line, and no run folder
    gpu.py speed CONFIG [OPTION…]                         scripts/measure/bench_pytorch.py
    gpu.py seeds CHARGPT CONFIG FOLDER [OPTION…]          the losses of five seeds
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Losses on two devices: of the same weights, of the first step, and after ten, by when rounding has grown. A whole run's, beside three seeds on a CPU.
SAME_WEIGHTS, FIRST_UPDATE, TENTH_UPDATE, WHOLE_RUN = 1e-4, 1e-4, 2e-2, 0.03


def held(detail):
    print(f"= {detail}")


def require(condition, detail):
    if not condition:
        held(detail)  # "= " marks the line that the list shows, here why it did not hold
        sys.exit(1)


def run(*command):
    print("$", *command, flush=True)
    process = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    print(process.stdout, flush=True)
    if process.returncode:
        sys.exit(process.returncode)
    return process.stdout


def rows(folder, kind):
    lines = (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]


def checkpoints(folder):
    return sorted(path for path in (pathlib.Path(folder) / "checkpoints").glob("step-*.safetensors"))


def weights(folder):
    """The bytes of every tensor of the last checkpoint."""
    data = checkpoints(folder)[-1].read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    return {name: data[begin:][slice(*header[name]["data_offsets"])] for name in header if name != "__metadata__"}


def same(one, other):
    differing = [name for name in one if one[name] != other.get(name)]
    return not differing and one.keys() == other.keys(), ", ".join(differing)


def tests(program):
    printed = run(program, "[cuda]")
    cases = re.search(r"All tests passed \((\d+) assertions? in (\d+) test cases?\)", printed)
    require(cases, "no [cuda] case ran: the program sees no GPU")
    held(f"{cases[2]} cases, {cases[1]} assertions")


def train(chargpt, config, folder, device, *options):
    run(chargpt, "train", config, "--run", folder, *options)
    evaluations, steps, plan = rows(folder, "eval"), rows(folder, "train"), rows(folder, "plan")[0]
    first, last, best = evaluations[0]["val_loss"], evaluations[-1]["val_loss"], min(row["val_loss"] for row in evaluations)
    require(plan["device"].startswith(device.split(":")[0]), f"it ran on {plan['device']}")
    require(best < first, f"the loss did not fall: {first:.4f} to {best:.4f}")
    detail = f"{steps[-1]['step']} steps in {steps[-1]['seconds']:.0f} s, val {first:.4f} to {last:.4f}, best {best:.4f}"
    expected = expected_loss(config) if "--max_iters" not in options else None
    require(expected is None or abs(best - expected) <= WHOLE_RUN, f"{detail}; the CPU's is {expected}")
    held(detail + (f" (on a CPU {expected})" if expected else ""))


def expected_loss(config):
    """Of configs/expected.json, where the config was measured."""
    loss = json.loads((ROOT / "configs/expected.json").read_text())["rows"].get(config, {}).get("loss")
    return round(loss, 4) if loss else None


def repeat(chargpt, config, folder, *options):
    runs = [f"{folder}-once", f"{folder}-again"]
    for name in runs:
        run(chargpt, "train", config, "--run", name, *options)
    equal, differing = same(*map(weights, runs))
    require(equal, f"two runs of 20 steps differ in {differing}")
    held("20 steps twice: the same bits")


def resume(chargpt, folder, device, *options):
    copy = pathlib.Path(f"{folder}-resumed")
    shutil.copytree(folder, copy)
    last, before = checkpoints(copy)[-1], checkpoints(copy)[-2]
    expected = weights(copy)
    last.unlink()
    run(chargpt, "resume", copy, "--device", device, *options)
    equal, differing = same(expected, weights(copy))
    require(equal, f"from {before.name} to {last.name} it ends otherwise: {differing}")
    held(f"from {before.stem} to {last.stem}: the same bits")


def sample(chargpt, folder):
    texts = [run(chargpt, "sample", folder, "--tokens", "300", "--seed", "5", "--quiet") for _ in range(2)]
    require(texts[0] == texts[1], "one seed gave two texts")
    require(len(texts[0]) > 300, f"only {len(texts[0])} characters came")
    held("300 characters, twice the same")


def evaluate(chargpt, folder):
    there = rows(folder, "eval")[-1]["val_loss"]
    here = json.loads(run(chargpt, "eval", folder, "--checkpoint", "last", "--weights", "trained", "--json", "--quiet"))["loss"]
    detail = f"{there:.6f}, on the CPU {here:.6f}"
    require(abs(there - here) <= SAME_WEIGHTS, detail)
    held(detail)


def go_on(chargpt, folder):
    copy = pathlib.Path(f"{folder}-on-the-cpu")
    shutil.copytree(folder, copy)
    done = rows(folder, "train")[-1]["step"]
    run(chargpt, "resume", copy, "--device", "cpu", "--max_iters", done + 2, "--eval_iters", "1", "--patience", "0", "--log_interval", "1", "--quiet")
    losses = [row["loss"] for row in rows(copy, "train") if row["step"] > done]
    before = [row["loss"] for row in rows(folder, "train")][-5:]
    require(len(losses) == 2 and abs(losses[-1] - before[-1]) < 1, f"losses went from {before} to {losses}")
    held(f"loss {before[-1]:.3f} there, {losses[-1]:.3f} here")


def losses(chargpt, config, folder, device, *options):
    short = ["--max_iters", "10", "--eval_iters", "1", "--log_interval", "1", "--sample_tokens", "0", "--batch_size", "4", "--dropout", "0", "--dtype", "float32"]
    curves = []
    for where in (device, "cpu"):
        name = f"{folder}-losses-{where.replace(':', '')}{len(curves)}"
        engine = ["--engine", "libtorch"] if where == "cpu" else []
        run(chargpt, "train", config, "--run", name, *single(options), *short, "--device", where, *engine, "--quiet")
        curves.append([row["loss"] for row in rows(name, "train")])
    differences = [abs(a - b) for a, b in zip(*curves)]
    detail = f"off by {differences[0]:.1e} in the first step, {max(differences):.1e} at most in ten"
    require(len(differences) == 10, f"{len(differences)} steps, not 10")
    require(differences[0] <= FIRST_UPDATE and max(differences) <= TENTH_UPDATE, detail)
    held(detail)


def single(options):
    """Without what losses() sets itself."""
    pairs = zip(options[::2], options[1::2])
    return [word for pair in pairs if pair[0] != "--batch_size" for word in pair]


def speed(*options):
    figures = json.loads(run(sys.executable, ROOT / "scripts/measure/bench_pytorch.py", *options))
    ratio = figures["ratio"]
    held(f"PyTorch {figures['pytorch_ms']} ms, chargpt {figures['chargpt_ms']} ms, ratio {ratio['median']} ({ratio['lowest']} to {ratio['highest']})")


def refused(chargpt, folder, status, *options):
    command = [chargpt, "train", "nanogpt-gpu", "--run", folder, "--quiet", *options]
    print("$", *command, flush=True)
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    print(process.stderr, flush=True)
    lines = [line for line in process.stderr.splitlines() if "error" in line]
    require(process.returncode == int(status), f"it ended with {process.returncode}, not {status}")
    require(len(lines) == 1, f"{len(lines)} lines say error")
    require(not pathlib.Path(folder).exists(), "a run folder was made")
    held(lines[0])


def seeds(chargpt, config, folder, *options):
    run(chargpt, "compare", config, "--seeds", "5", "--out", folder, *options)
    results = json.loads((pathlib.Path(folder) / "compare.json").read_text())
    found = [row["loss"] for row in results["results"][0]["seeds"]]
    require(len(found) == 5, f"{len(found)} seeds ended")
    held(f"{', '.join(f'{loss:.4f}' for loss in found)}; mean {sum(found) / 5:.4f}")


CHECKS = {check.__name__: check for check in (tests, train, repeat, resume, sample, evaluate, go_on, losses, refused, speed, seeds)}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    CHECKS[sys.argv[1]](*sys.argv[2:])
