#!/usr/bin/env python3
"""Speed of chargpt beside PyTorch with the same weights (scripts/reference/peer.py): a training step of a config, or sampling from a run.

    scripts/measure/bench_pytorch.py nanogpt-cpu [--compile] [--dtype bfloat16] [--threads N] [--device cuda]    milliseconds of a step
    scripts/measure/bench_pytorch.py RUN --sample [--batch 1 64] [--tokens 500] [--context half]                 characters a second

A step is nanoGPT's: draw windows, forward, backward, clip, update (AdamW fused, Muon, averaged weights as the config says). Samples are drawn as by
nanoGPT's generate: the last block_size tokens through the whole model for each character, temperature, top-k, one draw.

The program trains the config for 20 steps first, and before anything is timed the loss of both on the whole validation split must be the same
(--tolerance), or their greedy text. Then they take turns, A B B A. One JSON object: the medians, and the median, lowest and highest ratio of neighbours
in time (above 1, chargpt is faster), which say how far to trust the median on a shared machine. Needs torch and transformers.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import sys
import tempfile
import time

if {"-h", "--help"} & {*sys.argv}:
    sys.exit(print(__doc__))

import torch  # noqa: E402 (help needs none of these)

from workbench import PROGRAM, ROOT, Program, in_turns  # noqa: E402

sys.path.append(str(ROOT / "scripts/reference"))
from peer import Optimizer, gpt, rate_factor, read  # noqa: E402 (found by the line above)

TEMPERATURE, TOP_K = 0.8, 200
# What begins at zero hides what it does: losses are compared after a few steps.
FEW_UPDATES = ["--max_iters", 20, "--warmup_iters", 5, "--lr_decay_iters", 0, "--dtype", "float32", "--ema", 0, "--sample_tokens", 0, "--quiet"]


def model_and_config(checkpoint):
    tensors, about = read(checkpoint)
    model = gpt(about["config"]["model"], len(tensors["transformer.wte.weight"]))
    missing, _ = model.load_state_dict(tensors, strict=False)  # the file has the optimizer's too
    if set(missing) - {"lm_head.weight"}:
        sys.exit(f"bench_pytorch.py: {checkpoint} has no {missing}")
    return model, about


class Training:
    """The peer, about to continue from a run of a few steps."""

    def __init__(self, arguments, given):
        with tempfile.TemporaryDirectory() as run:
            arguments.program.run("train", arguments.what, *FEW_UPDATES, *given, "--device", arguments.device, "--run", run, "--overwrite")
            figures = arguments.program.json("eval", run, "--checkpoint", "last")
            self.model, about = model_and_config(figures["checkpoint"]["path"])
            text, splits = read(pathlib.Path(run) / "text.safetensors")
        self.ids, self.splits, self.t, self.T = text["ids"].long(), splits["splits"], about["config"]["train"], self.model.config.block_size
        self.device = torch.device(arguments.device)
        self.model.to(self.device)
        self.optimizer = Optimizer(self.model, self.t)
        self.forward = torch.compile(self.model) if arguments.compile else self.model
        self.bfloat16 = arguments.dtype == "bfloat16"
        self.losses = [self.val_loss(), figures["loss"]]
        if not abs(self.losses[0] - self.losses[1]) <= arguments.tolerance:
            sys.exit(f"bench_pytorch.py: the losses differ: {self.losses[0]:.6f} here, {self.losses[1]:.6f} by the program; nothing was measured")

    def loss(self, model, ids):
        """The mean over windows of T + 1 ids."""
        ids = ids.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else ids
        return torch.nn.functional.cross_entropy(model(ids[:, :-1]).logits.flatten(0, 1).float(), ids[:, 1:].flatten())

    @torch.no_grad()
    def val_loss(self):
        """The mean over the split, in windows of T, the last one short."""
        begin, end = self.splits["val"]
        pieces = self.ids[begin:end].unfold(0, self.T + 1, self.T).split(64)
        rest = self.ids[begin + self.T * sum(map(len, pieces)): end][None]
        total = sum(self.loss(self.model.eval(), piece).item() * piece[:, 1:].numel() for piece in (*pieces, rest) if piece.shape[1] > 1)
        self.model.train()
        return total / (end - begin - 1)

    def update(self, step):
        for _ in range(self.t["gradient_accumulation_steps"]):
            starts = torch.randint(self.splits["train"][1] - self.T, (self.t["batch_size"], 1))
            with torch.autocast(self.device.type, torch.bfloat16) if self.bfloat16 else contextlib.nullcontext():
                loss = self.loss(self.forward, self.ids[starts + torch.arange(self.T + 1)])
            (loss / self.t["gradient_accumulation_steps"]).backward()
        self.optimizer.step(rate_factor(self.t, step))
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def milliseconds(self, steps):
        """The median of so many steps."""
        times = []
        for step in range(steps):
            begin = time.perf_counter()
            self.update(step)
            times.append(1e3 * (time.perf_counter() - begin))
        return statistics.median(times)


def compare(pairs, theirs, ours):
    """Medians of both, and ratios of neighbours in time."""
    peer, mine = in_turns(pairs, theirs, ours)
    return statistics.median(peer), statistics.median(mine), [one / other for one, other in zip(peer, mine)]


def summary(ratios):
    return {"median": round(statistics.median(ratios), 2), "lowest": round(min(ratios), 2), "highest": round(max(ratios), 2)}


def compare_steps(arguments):
    given = [f"--set={option}" for option in arguments.set] + (["--text", arguments.text.resolve()] if arguments.text else [])
    given += ["--threads", arguments.threads] if arguments.threads else []
    training, found = Training(arguments, given), {}
    first_step = training.milliseconds(1) / 1e3
    training.milliseconds(arguments.warmup)

    def ours():
        found.update(arguments.program.json("bench", "train", arguments.what, *given, "--dtype", arguments.dtype, "--device", arguments.device,
                                            "--warmup", arguments.warmup, "--steps", arguments.steps))
        return found["ms_per_step"]["median"]

    peer, mine, ratios = compare(arguments.pairs, lambda: training.milliseconds(arguments.steps), ours)
    return {"dtype": arguments.dtype, "pytorch": "compiled" if arguments.compile else "eager", "pytorch_ms": round(peer, 2), "chargpt_ms": round(mine, 2),
            "ratio": summary(ratios), "fraction_of_peak": found.get("fraction_of_peak", torch.nan), "peak_gflops": found.get("peak_gflops", torch.nan),
            "pytorch_first_step_seconds": round(first_step, 2), "losses": training.losses}


@torch.no_grad()
def generate(model, ids, tokens, greedy=False):  # (B, T) -> (B, T + tokens)
    for _ in range(tokens):
        logits = model(ids[:, -model.config.block_size:]).logits[:, -1]
        if greedy:
            chosen = logits.argmax(dim=1, keepdim=True)
        else:
            logits = logits / TEMPERATURE
            least = torch.topk(logits, min(TOP_K, logits.size(-1))).values[:, [-1]]
            chosen = torch.multinomial(torch.nn.functional.softmax(logits.masked_fill(logits < least, -torch.inf), dim=-1), num_samples=1)
        ids = torch.cat((ids, chosen), dim=1)
    return ids


def compare_sampling(arguments):
    run, program = pathlib.Path(arguments.what).resolve(), arguments.program
    model, about = model_and_config(program.json("inspect", run, "--checkpoint", "best")["path"])
    model.eval()
    symbols = about["vocabulary"]["symbols"]
    prompt = max(symbol for symbol in symbols if symbol.isascii() and symbol.isalpha())
    expected = "".join(symbols[i] for i in generate(model, torch.tensor([[symbols.index(prompt)]]), 300, greedy=True)[0])
    ours = program.run("sample", run, "--prompt", prompt, "--greedy", "--tokens", 300, "--context", "full", "--quiet")
    if ours.removesuffix("\n") != expected:
        sys.exit(f"bench_pytorch.py: the greedy texts differ:\n{ours}\n---\n{expected}")

    def row(batch):
        def theirs():
            begin = time.perf_counter()
            generate(model, torch.full((batch, 1), symbols.index("\n")), arguments.tokens)
            return batch * arguments.tokens / (time.perf_counter() - begin)

        options = ["--batch", batch, "--tokens", arguments.tokens, "--temperature", TEMPERATURE, "--top_k", TOP_K, "--context", arguments.context]
        options += ["--threads", arguments.threads] if arguments.threads else []
        peer, mine, ratios = compare(arguments.pairs, theirs, lambda: program.json("bench", "sample", run, *options)["tokens_per_second"])
        return {"batch": batch, "pytorch": round(peer), "chargpt": round(mine), "ratio": summary([1 / ratio for ratio in ratios])}

    return {"tokens": arguments.tokens, "context": arguments.context, "results": [row(batch) for batch in arguments.batch]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="a preset or config; with --sample a run")
    parser.add_argument("--program", type=lambda path: Program(str(pathlib.Path(path).resolve())), default=Program(PROGRAM))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: each one's own choice")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    parser.add_argument("--device", default="cpu", help="of both: cpu, cuda or cuda:N")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of the config")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="bfloat16: autocast")
    parser.add_argument("--warmup", type=int, default=20, help="steps that are not measured")
    parser.add_argument("--steps", type=int, default=200, help="steps that are measured")
    parser.add_argument("--text", type=pathlib.Path, help="in place of the config's")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="how far the losses may differ, nats")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64], help="samples at once")
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--context", default="full", choices=["full", "half"])
    arguments = parser.parse_args()
    torch.manual_seed(1337)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    result = (compare_sampling if arguments.sample else compare_steps)(arguments)
    on = torch.cuda.get_device_name(arguments.device) if arguments.device.startswith("cuda") else arguments.device
    print(json.dumps({"of": arguments.what, "pairs": arguments.pairs, "device": on, "threads": torch.get_num_threads(), "torch": torch.__version__} | result))


if __name__ == "__main__":
    main()
