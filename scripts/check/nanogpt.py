#!/usr/bin/env python3
"""Carries models between chargpt and nanoGPT, both ways, and compares what the two compute.

    scripts/check/nanogpt.py NANOGPT [--text FILE] [--steps N]

    NANOGPT   a checkout of github.com/karpathy/nanoGPT; it is copied, not written to
    --text    a text (default data/sample.txt)
    --steps   steps that both sides train on (default 10)

1. nanoGPT's train.py trains a small model; scripts/nanogpt_to_chargpt.py and `chargpt import` bring it here.
2. chargpt trains one; `chargpt export --format nanogpt` and scripts/chargpt_to_nanogpt.py bring it there, where sample.py writes with it
   and train.py goes on with it.
Each time the same weights score the same text on both sides (limit 1e-5 nats), and both train on from the same moments, with the windows
that `chargpt resume` draws (limit 1e-4 a loss). Prints a table; exit status 1 where a limit is passed. Needs torch, and what nanoGPT needs (tiktoken).

$CHARGPT is the program (default build/chargpt).
"""

import argparse
import contextlib
import importlib.util
import json
import math
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("CHARGPT", str(SOURCE / "build" / "chargpt"))
LOSS_LIMIT, STEP_LIMIT = 1e-5, 1e-4
SEED = 1337
TRAINED = 60  # steps before the change of sides
SETTINGS = {"n_layer": 3, "n_head": 2, "n_embd": 32, "block_size": 48, "batch_size": 6, "learning_rate": 3e-3, "min_lr": 3e-4,
            "warmup_iters": 20, "lr_decay_iters": 200, "max_iters": TRAINED, "eval_interval": TRAINED, "beta2": 0.98, "dropout": 0.0}


def run(command, folder):
    process = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{process.stdout[-2000:]}{process.stderr[-4000:]}")
    return process.stdout


# ---- the windows that chargpt draws; see src/base/random.h and src/train/batches.h

def philox(counter, key):
    counter, key = list(counter), list(key)
    for _ in range(10):
        even, odd = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [odd >> 32 ^ counter[1] ^ key[0], odd & 0xFFFFFFFF, even >> 32 ^ counter[3] ^ key[1], even & 0xFFFFFFFF]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return counter


def numbers(micro_batch):
    """64-bit draws of one micro-batch's stream."""
    key = philox([1, 0, 0, 0], [SEED, 0])[:2]
    block = 0
    while True:
        words = philox([block, 0, micro_batch, 0], key)
        yield words[0] | words[1] << 32
        yield words[2] | words[3] << 32
        block += 1


def below(draws, bound):
    product = next(draws) * bound
    while product % 2**64 < 2**64 % bound:
        product = next(draws) * bound
    return product >> 64


def window_starts(step, tokens):
    draws = numbers(step)
    return [below(draws, tokens - SETTINGS["block_size"]) for _ in range(SETTINGS["batch_size"])]


# ---- nanoGPT

def write_dataset(folder, text):
    """What nanoGPT's data/shakespeare_char/prepare.py writes."""
    import numpy
    symbols = sorted(set(text))
    ids = {symbol: id for id, symbol in enumerate(symbols)}
    tokens = numpy.array([ids[symbol] for symbol in text], dtype=numpy.uint16)
    cut = int(len(tokens) * 0.9)
    folder.mkdir(parents=True)
    tokens[:cut].tofile(folder / "train.bin")
    tokens[cut:].tofile(folder / "val.bin")
    with open(folder / "meta.pkl", "wb") as file:
        pickle.dump({"vocab_size": len(symbols), "itos": dict(enumerate(symbols)), "stoi": ids}, file)
    return tokens


def train_py(nanogpt, **options):
    run([sys.executable, "train.py", *(f"--{name}={value}" for name, value in options.items())], nanogpt)


class NanoGpt:
    """A ckpt.pt in nanoGPT's own model and optimizer."""

    def __init__(self, nanogpt, path):
        import torch
        spec = importlib.util.spec_from_file_location("model", nanogpt / "model.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.torch = torch
        checkpoint = torch.load(path, weights_only=True)
        self.step = checkpoint["iter_num"]
        self.config = checkpoint["config"]
        config = self.config
        with contextlib.redirect_stdout(None):  # both tell how many parameters there are
            self.model = module.GPT(module.GPTConfig(**checkpoint["model_args"]))
            self.optimizer = self.model.configure_optimizers(config["weight_decay"], config["learning_rate"], (config["beta1"], config["beta2"]), "cpu")
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])

    def loss(self, ids):
        with self.torch.no_grad():
            ids = self.torch.tensor([ids])
            return self.model.eval()(ids[:, :-1], ids[:, 1:].contiguous())[1].item()

    def rate(self):
        """get_lr of train.py."""
        config, step = self.config, self.step
        if step < config["warmup_iters"]:
            return config["learning_rate"] * (step + 1) / (config["warmup_iters"] + 1)
        done = min(1, (step - config["warmup_iters"]) / (config["lr_decay_iters"] - config["warmup_iters"]))
        return config["min_lr"] + 0.5 * (1 + math.cos(math.pi * done)) * (config["learning_rate"] - config["min_lr"])

    def train(self, tokens, steps):
        torch, block = self.torch, SETTINGS["block_size"]
        self.model.train()
        losses = []
        for _ in range(steps):
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate()
            windows = torch.tensor([tokens[start: start + block + 1].tolist() for start in window_starts(self.step, len(tokens))])
            loss = self.model(windows[:, :-1].contiguous(), windows[:, 1:].contiguous())[1]
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config["grad_clip"])
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            self.step += 1
        return losses


# ---- the comparison

class Comparison:
    def __init__(self, work, text, steps):
        self.work, self.text, self.steps, self.held = work, text, steps, True
        self.nanogpt = work / "nanoGPT"
        self.ids = write_dataset(self.nanogpt / "data" / "text", text)
        (work / "text.txt").write_text(text)

    def chargpt(self, *arguments):
        return run([PROGRAM, *arguments, "--quiet"], self.work)

    def row(self, what, figure, limit):
        print(f"{what:82}  {figure:9.2e}  {limit:.0e}", flush=True)
        self.held = self.held and figure <= limit

    def compare(self, which, name, checkpoint):
        """The run `name` here and the checkpoint there hold the same."""
        theirs = NanoGpt(self.nanogpt, checkpoint)
        block, largest = SETTINGS["block_size"], 0.0
        for place in range(0, 8 * block, block):
            (self.work / "piece.txt").write_text(self.text[place: place + block + 1])
            ours = json.loads(self.chargpt("eval", name, "--text", "piece.txt", "--json"))["loss"]
            largest = max(largest, abs(ours - theirs.loss(self.ids[place: place + block + 1].tolist())))
        self.row(f"{which}: loss of a window, chargpt and nanoGPT", largest, LOSS_LIMIT)
        begin = theirs.step
        losses = theirs.train(self.ids[: int(len(self.ids) * 0.9)], self.steps)
        self.chargpt("resume", name, "--max_iters", begin + self.steps, "--log_interval", 1)
        rows = [json.loads(line) for line in (self.work / name / "metrics.jsonl").read_text().splitlines()]
        ours = {row["step"]: row["loss"] for row in rows if row.get("loss") is not None}
        differences = [abs(ours[begin + i + 1] - loss) for i, loss in enumerate(losses)]
        self.row(f"{which}: losses of the next {self.steps} steps, both from the same moments", max(differences), STEP_LIMIT)

    def from_nanogpt(self, bias):
        out = f"out-{bias}"
        train_py(self.nanogpt, dataset="text", out_dir=out, gradient_accumulation_steps=1, device="cpu", compile=False, eval_iters=2, log_interval=20, bias=bias, **SETTINGS)
        name = f"from-nanogpt-{bias}"
        run([sys.executable, SOURCE / "scripts/nanogpt_to_chargpt.py", self.nanogpt / out / "ckpt.pt", self.nanogpt / "data/text/meta.pkl", name], self.work)
        self.chargpt("import", name, "--text", "text.txt", "--run", f"runs/{name}")
        self.compare(f"nanoGPT's, bias {bias}", f"runs/{name}", self.nanogpt / out / "ckpt.pt")

    def to_nanogpt(self):
        self.chargpt("train", "nanogpt-cpu", "--text", "text.txt", "--run", "runs/ours", *(f"--{name}={value}" for name, value in SETTINGS.items()))
        self.chargpt("export", "runs/ours", "--checkpoint", "last", "--format", "nanogpt", "--out", "exported")
        run([sys.executable, SOURCE / "scripts/chargpt_to_nanogpt.py", "exported", "converted"], self.work)
        self.compare("chargpt's", "runs/ours", self.work / "converted" / "ckpt.pt")
        dataset = self.nanogpt / "data" / "ours"
        shutil.copytree(self.nanogpt / "data" / "text", dataset)
        shutil.copy(self.work / "converted" / "meta.pkl", dataset / "meta.pkl")
        shutil.copytree(self.work / "converted", self.nanogpt / "out-ours")
        checkpoint = self.nanogpt / "out-ours" / "ckpt.pt"
        before = checkpoint.stat().st_mtime_ns
        train_py(self.nanogpt, dataset="ours", out_dir="out-ours", init_from="resume", device="cpu", compile=False, eval_iters=2,
                 **{**SETTINGS, "max_iters": TRAINED + 20, "eval_interval": 20})
        self.row("chargpt's: train.py goes on with it (0: saved anew)", float(checkpoint.stat().st_mtime_ns == before), 0)
        sample = run([sys.executable, "sample.py", "--out_dir=out-ours", "--device=cpu", "--compile=False", "--num_samples=1", "--max_new_tokens=80"], self.nanogpt)
        known = set(self.text) | set("\n-")
        written = re.split(r"^Loading meta from .*\n", sample, flags=re.MULTILINE)[1]
        foreign = [symbol for symbol in written if symbol not in known]
        if len(written) < 80:
            sys.exit(f"sample.py wrote only this: {sample}")
        self.row("chargpt's: sample.py writes with it (characters not of the text)", float(len(foreign)), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nanogpt", metavar="NANOGPT", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, default=SOURCE / "data" / "sample.txt")
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        shutil.copytree(arguments.nanogpt, work / "nanoGPT", ignore=shutil.ignore_patterns(".git"))
        comparison = Comparison(work, arguments.text.read_bytes().decode(), arguments.steps)
        print(f"{'':82}  {'largest':>9}  limit", flush=True)
        comparison.from_nanogpt(False)
        comparison.from_nanogpt(True)
        comparison.to_nanogpt()
    return 0 if comparison.held else 1


if __name__ == "__main__":
    sys.exit(main())
