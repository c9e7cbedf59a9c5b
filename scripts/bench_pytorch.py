#!/usr/bin/env python3
"""Our PyTorch peer: milliseconds per training step of a config, eager or compiled, alone or alternating with the program.

The config is the program's own: it writes a run without a step, and the peer reads its config.json and starts from its weights. Covered:
gpt with the norms, positions, activations and heads of the presets, AdamW (fused) and Muon. A step is nanoGPT's: draw a batch of windows,
forward, backward, clip, update, zero the gradients; logging and evaluation are off, as in `chargpt bench train`. Before anything is timed,
the loss of the peer on the whole validation split must be the program's (--tolerance).

    scripts/bench_pytorch.py nanogpt-cpu [--compile] [--dtype bfloat16] [--threads N]       prints one JSON object
    scripts/bench_pytorch.py nanogpt-cpu --against build/chargpt [--pairs 5]                alternates A B B A with `chargpt bench train`

The second form reports the median of each and of the paired ratios (PyTorch's time over ours: above 1, ours is faster), with the smallest
and the largest ratio: on a shared machine they say how far to trust the median. Needs torch (PYTHONPATH=.libtorch) and the text.
"""

import argparse
import contextlib
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent


# ---- the model, from the formulas; parameters have the program's names


def norm_of(m):
    if m["norm"] == "layernorm":
        return nn.LayerNorm(m["n_embd"], eps=m["norm_eps"], bias=False, elementwise_affine=m["norm_gain"])
    return nn.RMSNorm(m["n_embd"], eps=m["norm_eps"], elementwise_affine=m["norm_gain"])


ACTIVATIONS = {"gelu": F.gelu, "relu": F.relu, "relu2": lambda x: F.relu(x).square()}


class Attention(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m
        self.c_attn = nn.Linear(m["n_embd"], 3 * m["n_embd"], bias=False)
        self.c_proj = nn.Linear(m["n_embd"], m["n_embd"], bias=False)

    def forward(self, x, rotation):  # (B, T, C) -> (B, T, C)
        B, T, C = x.shape
        nh = self.m["n_head"]
        q, k, v = (part.view(B, T, nh, C // nh).transpose(1, 2) for part in self.c_attn(x).split(C, dim=2))
        if self.m["qk_norm"]:
            q, k = (F.rms_norm(y, (C // nh,), eps=self.m["norm_eps"]) for y in (q, k))
        if rotation is not None:
            q, k = rotated(q, rotation), rotated(k, rotation)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, nh, T, hs)
        return self.c_proj(heads.transpose(1, 2).reshape(B, T, C))


def rotated(x, rotation):
    cos, sin = rotation  # (T, hs/2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class Mlp(nn.Module):
    def __init__(self, m):
        super().__init__()
        width = m["mlp_size"] or 4 * m["n_embd"]
        self.c_fc = nn.Linear(m["n_embd"], width, bias=False)
        self.c_proj = nn.Linear(width, m["n_embd"], bias=False)
        self.activation = ACTIVATIONS[m["activation"]]

    def forward(self, x):
        return self.c_proj(self.activation(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.ln_1, self.ln_2, self.attn, self.mlp = norm_of(m), norm_of(m), Attention(m), Mlp(m)

    def forward(self, x, rotation):
        x = x + self.attn(self.ln_1(x), rotation)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, m, vocab_size):
        super().__init__()
        self.m = m
        parts = {"wte": nn.Embedding(vocab_size, m["n_embd"]), "h": nn.ModuleList(Block(m) for _ in range(m["n_layer"]))}
        if m["position"] == "learned":
            parts["wpe"] = nn.Embedding(m["block_size"], m["n_embd"])
        if m["final_norm"]:
            parts["ln_f"] = norm_of(m)
        self.transformer = nn.ModuleDict(parts)
        self.lm_head = nn.Linear(m["n_embd"], vocab_size, bias=False)
        if m["tie_weights"]:
            self.lm_head.weight = self.transformer.wte.weight
        half = m["n_embd"] // m["n_head"] // 2
        angles = torch.outer(torch.arange(m["block_size"]), m["rope_base"] ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids, targets):  # (B, T), (B, T) -> scalar
        t, T = self.transformer, ids.shape[1]
        x = t.wte(ids)
        if self.m["position"] == "learned":
            x = x + t.wpe.weight[:T]
        rotation = (self.cos[:T], self.sin[:T]) if self.m["position"] == "rope" else None
        for block in t.h:
            x = block(x, rotation)
        if self.m["final_norm"]:
            x = t.ln_f(x)
        return F.cross_entropy(self.lm_head(x).flatten(0, 1).float(), targets.flatten())


COVERED = {
    "type": ["gpt"], "norm": ["layernorm", "rmsnorm"], "norm_place": ["pre"], "position": ["learned", "rope", "none"],
    "activation": list(ACTIVATIONS), "attention_scale": ["head"], "bias": [False], "head_size": [0], "dropout": [0.0],
    "feed_forward": [True], "output_projection": [True], "ngram_orders": [[]],
}  # fmt: skip


def check_covered(m):
    for option, values in COVERED.items():
        if m[option] not in values:
            sys.exit(f"bench_pytorch: model.{option} = {m[option]} is not in this peer; it has {values}")


# ---- the update


class Muon:
    """Jordan et al. 2024, on all equal matrices at once; q, k and v are one matrix each."""

    def __init__(self, weights, group):
        self.rate, self.momentum, self.decay = group["learning_rate"], group["momentum"], group["weight_decay"]
        by_shape = {}
        for name, weight in weights:
            for part in weight.chunk(3) if name.endswith("c_attn.weight") else [weight]:
                by_shape.setdefault(tuple(part.shape), []).append(part)
        self.weights, self.by_shape = weights, by_shape
        self.moments = {shape: torch.zeros(len(parts), *shape) for shape, parts in by_shape.items()}

    @torch.no_grad()
    def step(self, factor):
        gradients = {}
        for name, weight in self.weights:
            for part in weight.grad.chunk(3) if name.endswith("c_attn.weight") else [weight.grad]:
                gradients.setdefault(tuple(part.shape), []).append(part)
        for shape, parts in self.by_shape.items():
            g = torch.stack(gradients[shape])
            moment = self.moments[shape].lerp_(g, 1 - self.momentum)
            update = orthogonal(g.lerp(moment, self.momentum)) * max(1.0, shape[0] / shape[1]) ** 0.5
            rate = self.rate * factor
            for weight, change in zip(parts, update):
                weight.mul_(1 - rate * self.decay).sub_(change, alpha=rate)


def orthogonal(u):  # (n, rows, columns)
    tall = u.shape[1] > u.shape[2]
    x = u.mT if tall else u
    x = x / x.norm(dim=(1, 2), keepdim=True)
    for _ in range(5):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if tall else x


class Optimizer:
    """Parameters in the groups of the config, the first match of train.groups before the rest."""

    def __init__(self, model, t):
        named, adamw, self.muon, self.t = dict(model.named_parameters()), [], [], t
        for group in t["groups"]:
            mine = [(n, named.pop(n)) for n in list(named) if re.search(group["match"], n)]
            if group["optimizer"] == "muon":
                self.muon.append(Muon(mine, group))
            else:
                adamw.append({"params": [w for _, w in mine], "lr": group["learning_rate"], "weight_decay": group["weight_decay"]})
        for decay, weights in ((t["weight_decay"], [w for w in named.values() if w.dim() >= 2]), (0.0, [w for w in named.values() if w.dim() < 2])):
            if weights:
                adamw.append({"params": weights, "lr": t["learning_rate"], "weight_decay": decay})
        self.clipped = list(model.parameters())
        self.adamw = torch.optim.AdamW(adamw, betas=(t["beta1"], t["beta2"]), eps=t["adam_eps"], fused=True)
        self.rates = [group["lr"] for group in self.adamw.param_groups]

    def step(self, factor):
        for group, rate in zip(self.adamw.param_groups, self.rates):
            group["lr"] = rate * factor
        nn.utils.clip_grad_norm_(self.clipped, self.t["grad_clip"])
        self.adamw.step()
        for muon in self.muon:
            muon.step(factor)
        for weight in self.clipped:
            weight.grad = None


def rate_factor(t, step):
    """Of the peak rate: warm-up, then cosine or linear."""
    if step < t["warmup_iters"]:
        return (step + 1) / (t["warmup_iters"] + 1)
    end = t["lr_decay_iters"] or t["max_iters"]
    progress = min(1.0, (step - t["warmup_iters"]) / max(1, end - t["warmup_iters"]))
    left = 0.5 * (1 + math.cos(math.pi * progress)) if t["lr_schedule"] == "cosine" else 1 - progress
    lowest = t["min_lr"] / t["learning_rate"]
    return lowest + left * (1 - lowest)


# ---- the program's side


def run_of(program, command):
    process = subprocess.run([program, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        sys.exit(f"bench_pytorch: {program} {' '.join(command)} ended with {process.returncode}")
    return process.stdout


TYPES = {"F32": torch.float32}


def read_safetensors(path):
    """Eight bytes of header length, a JSON header, the numbers."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    body = memoryview(bytearray(data[8 + size :]))
    return {name: torch.frombuffer(body[slice(*entry["data_offsets"])], dtype=TYPES[entry["dtype"]]).view(entry["shape"])
            for name, entry in header.items()}


class Start:
    """A run of the program without a step: config, symbols, weights, and its loss of the validation split."""

    def __init__(self, arguments):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "run"
            # A few steps, for what begins at zero hides what it does.
            run_of(arguments.program, ["train", arguments.config, "--max_iters", "20", "--warmup_iters", "5", "--lr_decay_iters", "0", "--sample_tokens", "0", "--run", str(run), "--quiet"])
            config = json.loads((run / "config.json").read_text())
            config = config.get("config", config)
            self.model, self.train, self.data = config["model"], config["train"], config["data"]
            figures = json.loads(run_of(arguments.program, ["eval", str(run), "--checkpoint", "last", "--json"]))
            self.loss = figures["loss"]
            self.weights = read_safetensors(pathlib.Path(figures["checkpoint"]["path"]) / "model.safetensors")
        check_covered(self.model)

    def peer(self):
        model = GPT(self.model, self.weights["transformer.wte.weight"].shape[0])
        missing, unexpected = model.load_state_dict(self.weights, strict=False)
        if unexpected or set(missing) - {"lm_head.weight"}:
            sys.exit(f"bench_pytorch: weights that do not fit: {missing} {unexpected}")
        return model


def ids_of(path):
    text = path.read_text(encoding="utf-8")
    id_of = {symbol: i for i, symbol in enumerate(sorted(set(text)))}
    ids = torch.tensor([id_of[symbol] for symbol in text])
    return ids[: int(0.9 * len(ids))], ids[int(0.9 * len(ids)) :]


@torch.no_grad()
def split_loss(model, ids, T):
    """Mean over all tokens, in windows of T, the last one short."""
    total, whole = 0.0, (len(ids) - 1) // T * T
    for first in range(0, whole, 64 * T):
        last = min(first + 64 * T, whole)
        total += model(ids[first:last].view(-1, T), ids[first + 1 : last + 1].view(-1, T)).item() * (last - first)
    rest = len(ids) - 1 - whole
    if rest:
        total += model(ids[whole:-1][None], ids[whole + 1 :][None]).item() * rest
    return total / (len(ids) - 1)


# ---- measuring


def milliseconds_per_step(arguments):
    start = Start(arguments)
    torch.manual_seed(start.train["seed"])
    train, val = ids_of(ROOT / start.data["text"][0] if arguments.text is None else arguments.text)
    T, B, t = start.model["block_size"], start.train["batch_size"], start.train
    model = start.peer()
    loss = split_loss(model, val, T)
    if not abs(loss - start.loss) <= arguments.tolerance:
        sys.exit(f"bench_pytorch: the losses differ: {loss:.6f} here, {start.loss:.6f} by the program; nothing was measured")
    optimizer = Optimizer(model, t)
    forward = torch.compile(model) if arguments.compile else model
    precision = torch.autocast("cpu", torch.bfloat16) if arguments.dtype == "bfloat16" else contextlib.nullcontext()
    times, begun, first_step = [], time.perf_counter(), None
    for step in range(arguments.warmup + arguments.steps):
        begin = time.perf_counter()
        starts = torch.randint(len(train) - T, (B,)).tolist()
        inputs, targets = (torch.stack([train[i + shift : i + shift + T] for i in starts]) for shift in (0, 1))
        with precision:
            loss_of_step = forward(inputs, targets)
        loss_of_step.backward()
        optimizer.step(rate_factor(t, step))
        times.append(1e3 * (time.perf_counter() - begin))
        first_step = first_step or time.perf_counter() - begun
    return {"ms_per_step": quantiles(times[arguments.warmup :]), "first_step_seconds": round(first_step, 2),
            "val_loss_here": round(loss, 6), "val_loss_of_the_program": round(start.loss, 6), "last_loss": round(loss_of_step.item(), 4)}


def quantiles(times):
    ordered = sorted(times)
    at = lambda part: round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3)
    return {"median": at(0.5), "p10": at(0.1), "p90": at(0.9)}


def compare(arguments):
    """A B B A, each in a process of its own; ratios pair neighbours."""
    shared = ["--warmup", str(arguments.warmup), "--steps", str(arguments.steps)] + (["--threads", str(arguments.threads)] if arguments.threads else [])
    own = [sys.executable, __file__, arguments.config, "--program", arguments.program, "--dtype", arguments.dtype, *shared]
    own += (["--compile"] if arguments.compile else []) + (["--text", str(arguments.text)] if arguments.text else [])
    mine_command = ["bench", "train", arguments.config, "--dtype", arguments.dtype, "--json", *shared]

    def theirs():
        process = subprocess.run(own, stdout=subprocess.PIPE, text=True, check=False)
        return json.loads(process.stdout) if process.returncode == 0 else sys.exit("bench_pytorch: the peer failed")

    peer, mine = [], []
    for pair in range(arguments.pairs):
        turns = [(theirs, peer), (lambda: json.loads(run_of(arguments.program, mine_command)), mine)]
        for measure, figures in turns if pair % 2 == 0 else reversed(turns):
            figures.append(measure())
    time_of = lambda figures: [figure["ms_per_step"]["median"] for figure in figures]
    ratios = [p / m for p, m in zip(time_of(peer), time_of(mine))]
    return {"config": arguments.config, "dtype": arguments.dtype, "pytorch": "compiled" if arguments.compile else "eager",
            "pytorch_ms": round(statistics.median(time_of(peer)), 2), "chargpt_ms": round(statistics.median(time_of(mine)), 2),
            "ratio": {"median": round(statistics.median(ratios), 2), "lowest": round(min(ratios), 2), "highest": round(max(ratios), 2)},
            "fraction_of_peak": round(statistics.median(f.get("fraction_of_peak", math.nan) for f in mine), 2),
            "peak_gflops": round(statistics.median(f.get("peak_gflops", math.nan) for f in mine)),
            "pytorch_first_step_seconds": peer[0]["first_step_seconds"], "losses": [peer[0]["val_loss_here"], peer[0]["val_loss_of_the_program"]],
            "pairs": arguments.pairs, "threads": arguments.threads or torch.get_num_threads(), "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", nargs="?", default="nanogpt-cpu", help="preset or path")
    parser.add_argument("--program", default=str(ROOT / "build" / "chargpt"), help="where config and weights come from")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="bfloat16: autocast")
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's own choice")
    parser.add_argument("--warmup", type=int, default=20, help="steps that are not measured")
    parser.add_argument("--steps", type=int, default=200, help="steps that are measured")
    parser.add_argument("--text", type=pathlib.Path, help="in place of the config's")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="how far the losses may differ, nats")
    parser.add_argument("--against", metavar="PROGRAM", help="alternate with this chargpt")
    parser.add_argument("--pairs", type=int, default=5, help="with --against: how many pairs")
    arguments = parser.parse_args()
    if arguments.against:
        arguments.program = str(pathlib.Path(arguments.against).resolve())
        print(json.dumps(compare(arguments)))
        return
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    print(json.dumps(milliseconds_per_step(arguments) | {
        "engine": "pytorch compiled" if arguments.compile else "pytorch eager", "dtype": arguments.dtype,
        "threads": torch.get_num_threads(), "config": arguments.config, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
