#!/usr/bin/env python3
"""Our PyTorch peer: a config's training in PyTorch, eager or compiled, alone or alternating with the program.

The config is the program's own: it writes a checkpoint, and the peer reads its config.json and starts from its weights. Covered:
gpt with the norms, positions, activations, heads and dropout of the presets, AdamW (fused), Muon and averaged weights. A step is nanoGPT's: draw
a batch of windows, forward, backward, clip, update, zero the gradients; logging and evaluation are off, as in `chargpt bench train`. Before
anything is timed, the loss of the peer on the whole validation split must be the program's (--tolerance), both in float32.

    scripts/measure/bench_pytorch.py nanogpt-cpu [--compile] [--dtype bfloat16] [--threads N]       milliseconds per step, as one JSON object
    scripts/measure/bench_pytorch.py nanogpt-gpu --device cuda                                      ... of a GPU, each step waited for
    scripts/measure/bench_pytorch.py nanogpt-cpu --against build/chargpt [--pairs 5]                alternates A B B A with `chargpt bench train`
    scripts/measure/bench_pytorch.py nanogpt-cpu --against build/chargpt --whole [--max_iters N]    ... with `chargpt train`, whole runs

A whole run counts from the start of the process to its end: imports, reading the text, compiling, the config's steps, and at the program's
steps an evaluation (the whole validation split, and a quarter as much of the train split) and a checkpoint with the optimizer's moments.

Beside another the peer reports the median of each and of the paired ratios (PyTorch's time over ours: above 1, ours is faster), with the
smallest and the largest ratio: on a shared machine they say how far to trust the median. Needs torch (PYTHONPATH=.libtorch) and the text.
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

from workbench import ROOT, Program, in_turns


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
        self.weights_dropout, self.dropout = rate_at(m, "attention"), nn.Dropout(rate_at(m, "attention_output"))

    def forward(self, x, rotation):  # (B, T, C) -> (B, T, C)
        B, T, C = x.shape
        nh = self.m["n_head"]
        q, k, v = (part.view(B, T, nh, C // nh).transpose(1, 2) for part in self.c_attn(x).split(C, dim=2))
        if self.m["qk_norm"]:
            q, k = (F.rms_norm(y, (C // nh,), eps=self.m["norm_eps"]) for y in (q, k))
        if rotation is not None:
            q, k = rotated(q, rotation), rotated(k, rotation)
        heads = F.scaled_dot_product_attention(q, k, v, dropout_p=self.weights_dropout if self.training else 0.0, is_causal=True)  # (B, nh, T, hs)
        return self.dropout(self.c_proj(heads.transpose(1, 2).reshape(B, T, C)))


def rate_at(m, place):
    return m["dropout"] if place in m["dropout_places"] else 0.0


def rotated(x, rotation):
    cos, sin = rotation  # (T, hs/2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class ShortConvolution(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(m["conv_width"], m["n_embd"]))  # row j: of the token j before

    def forward(self, x):  # (B, T, C) -> (B, T, C)
        kernel = self.weight.flip(0).T.unsqueeze(1)  # (C, 1, taps)
        return x + F.conv1d(F.pad(x.transpose(1, 2), (len(self.weight) - 1, 0)), kernel, groups=x.shape[2]).transpose(1, 2)


class Mlp(nn.Module):
    def __init__(self, m):
        super().__init__()
        width = m["mlp_size"] or 4 * m["n_embd"]
        self.c_fc = nn.Linear(m["n_embd"], width, bias=False)
        self.c_proj = nn.Linear(width, m["n_embd"], bias=False)
        self.activation, self.dropout = ACTIVATIONS[m["activation"]], nn.Dropout(rate_at(m, "mlp"))

    def forward(self, x):
        return self.dropout(self.c_proj(self.activation(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.ln_1, self.ln_2, self.attn, self.mlp = norm_of(m), norm_of(m), Attention(m), Mlp(m)
        self.conv_1, self.conv_2 = (ShortConvolution(m) if place in m["conv_places"] else nn.Identity() for place in ("attention", "mlp"))

    def forward(self, x, rotation):
        x = x + self.attn(self.conv_1(self.ln_1(x)), rotation)
        return x + self.mlp(self.conv_2(self.ln_2(x)))


class GPT(nn.Module):
    def __init__(self, m, vocab_size):
        super().__init__()
        self.m = m
        parts = {"wte": nn.Embedding(vocab_size, m["n_embd"]), "h": nn.ModuleList(Block(m) for _ in range(m["n_layer"]))}
        if m["position"] == "learned":
            parts["wpe"] = nn.Embedding(m["block_size"], m["n_embd"])
        if m["final_norm"]:
            parts["ln_f"] = norm_of(m)
        self.transformer, self.dropout = nn.ModuleDict(parts), nn.Dropout(rate_at(m, "embedding"))
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
        x = self.dropout(x)
        rotation = (self.cos[:T], self.sin[:T]) if self.m["position"] == "rope" else None
        for block in t.h:
            x = block(x, rotation)
        if self.m["final_norm"]:
            x = t.ln_f(x)
        return F.cross_entropy(self.lm_head(x).flatten(0, 1).float(), targets.flatten())


COVERED = {
    "type": ["gpt"], "norm": ["layernorm", "rmsnorm"], "norm_place": ["pre"], "position": ["learned", "rope", "none"],
    "activation": list(ACTIVATIONS), "attention_scale": ["head"], "bias": [False], "head_size": [0],
    "feed_forward": [True], "output_projection": [True],
}  # fmt: skip


def check_covered(m):
    for option, values in COVERED.items():
        if m[option] not in values:
            sys.exit(f"bench_pytorch.py: model.{option} = {m[option]} is not in this peer; it has {values}")


# ---- the update


class Muon:
    """Jordan et al. 2024, on all equal matrices at once; q, k and v are one matrix each."""

    def __init__(self, weights, group):
        self.rate, self.momentum, self.decay = group["learning_rate"], group["momentum"], group["weight_decay"]
        self.weights, self.by_shape = weights, by_shape(weights)
        self.moments = {shape: torch.zeros(len(parts), *shape, device=parts[0].device) for shape, parts in self.by_shape.items()}

    @torch.no_grad()
    def step(self, factor):
        gradients = by_shape((name, weight.grad) for name, weight in self.weights)
        for shape, parts in self.by_shape.items():
            g = torch.stack(gradients[shape])
            moment = self.moments[shape].lerp_(g, 1 - self.momentum)
            update = orthogonal(g.lerp(moment, self.momentum)) * max(1.0, shape[0] / shape[1]) ** 0.5
            rate = self.rate * factor
            for weight, change in zip(parts, update):
                weight.mul_(1 - rate * self.decay).sub_(change, alpha=rate)


def by_shape(named):
    """Matrices of one shape together."""
    found = {}
    for name, matrix in named:
        for part in matrix.chunk(3) if name.endswith("c_attn.weight") else [matrix]:
            found.setdefault(tuple(part.shape), []).append(part)
    return found


def orthogonal(u):  # (n, rows, columns)
    tall = u.shape[1] > u.shape[2]
    x = u.mT if tall else u
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)  # what begins at zero has no gradient at first
    for _ in range(5):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if tall else x


class Optimizer:
    """Parameters in the groups of the config, the first match of train.groups before the rest."""

    def __init__(self, model, t):
        named, adamw, self.muon, self.t = dict(model.named_parameters()), [], [], t
        for stated in t["groups"]:
            group = {"learning_rate": stated.get("lr_scale", 1) * t["learning_rate"], "weight_decay": t["weight_decay"], **stated}
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
        self.updates, self.averages = 0, [w.detach().clone() for w in self.clipped] if t["ema"] > 0 else []

    def state(self):
        return [self.adamw.state_dict(), *(muon.moments for muon in self.muon)]

    def step(self, factor):
        for group, rate in zip(self.adamw.param_groups, self.rates):
            group["lr"] = rate * factor
        if self.t["grad_clip"] > 0:
            nn.utils.clip_grad_norm_(self.clipped, self.t["grad_clip"])
        self.adamw.step()
        for muon in self.muon:
            muon.step(factor)
        for weight in self.clipped:
            weight.grad = None
        self.updates += 1
        if self.averages:
            decay = min(self.t["ema"], (1 + self.updates) / (10 + self.updates))
            with torch.no_grad():
                torch._foreach_lerp_(self.averages, self.clipped, 1 - decay)


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


TYPES = {"F32": torch.float32}


def read_checkpoint(path):
    """Config, vocabulary and trained weights: eight bytes of header length, a JSON header, the numbers."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__")
    body = memoryview(bytearray(data[8 + size :]))
    weights = {name: torch.frombuffer(body[slice(*entry["data_offsets"])], dtype=TYPES[entry["dtype"]]).view(entry["shape"])
               for name, entry in header.items() if not name.startswith(("averaged.", "clock.", "optimizer."))}
    return json.loads(metadata["config"]), json.loads(metadata["vocabulary"]), weights


# What begins at zero hides what it does: losses are compared after a few steps.
FEW_UPDATES = ["--max_iters", "20", "--warmup_iters", "5", "--lr_decay_iters", "0", "--dtype", "float32", "--ema", "0"]


def checkpoint_of(arguments, options, folder):
    """The program's last checkpoint of a training with `options`, and its loss of the validation split."""
    run = pathlib.Path(folder) / "run"
    arguments.program.run("train", arguments.config, *options, *arguments.of_config, "--device", arguments.device, "--sample_tokens", 0,
                          "--run", run, "--quiet")
    figures = arguments.program.json("eval", run, "--checkpoint", "last")
    return pathlib.Path(figures["checkpoint"]["path"]), figures["loss"]


class Start:
    """What a checkpoint of the program holds: options and weights."""

    def __init__(self, checkpoint):
        config, _, self.weights = read_checkpoint(checkpoint)
        config = config.get("config", config)
        self.model, self.train, self.data, self.eval = config["model"], config["train"], config["data"], config["eval"]
        check_covered(self.model)

    def peer(self):
        model = GPT(self.model, self.weights["transformer.wte.weight"].shape[0])
        missing, unexpected = model.load_state_dict(self.weights, strict=False)
        if unexpected or set(missing) - {"lm_head.weight"}:
            sys.exit(f"bench_pytorch.py: weights that do not fit: {missing} {unexpected}")
        return model


def ids_of(path):
    text = path.read_text(encoding="utf-8")
    id_of = {symbol: i for i, symbol in enumerate(sorted(set(text)))}
    ids = torch.tensor([id_of[symbol] for symbol in text])
    return ids[: int(0.9 * len(ids))], ids[int(0.9 * len(ids)) :]


@torch.no_grad()
def split_loss(model, ids, T):
    """Mean over all tokens, in windows of T, the last one short."""
    model.eval()
    total, whole, ids = 0.0, (len(ids) - 1) // T * T, ids.to(next(model.parameters()).device)
    for first in range(0, whole, 64 * T):
        last = min(first + 64 * T, whole)
        total += model(ids[first:last].view(-1, T), ids[first + 1 : last + 1].view(-1, T)).item() * (last - first)
    rest = len(ids) - 1 - whole
    if rest:
        total += model(ids[whole:-1][None], ids[whole + 1 :][None]).item() * rest
    model.train()
    return total / (len(ids) - 1)


# ---- measuring


class Training:
    """The peer about to train from `start`, one step a call."""

    def __init__(self, start, arguments):
        torch.manual_seed(start.train["seed"])
        self.train, self.val = self.splits(start, arguments)
        self.T, self.B, self.t = start.model["block_size"], start.train["batch_size"], start.train
        self.device = torch.device(arguments.device)
        self.model = start.peer().to(self.device)
        self.optimizer = Optimizer(self.model, self.t)
        self.forward = torch.compile(self.model) if arguments.compile else self.model
        self.bfloat16 = arguments.dtype == "bfloat16"

    def splits(self, start, arguments):
        """Ids to train on, and to validate."""
        return ids_of(arguments.text or ROOT / start.data["text"][0])

    def precision(self):
        return torch.autocast(self.device.type, torch.bfloat16) if self.bfloat16 else contextlib.nullcontext()

    def on_device(self, ids):
        return ids.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else ids

    def update(self, step):
        for _ in range(self.t["gradient_accumulation_steps"]):
            starts = torch.randint(len(self.train) - self.T, (self.B,)).tolist()
            inputs, targets = (self.on_device(torch.stack([self.train[i + shift : i + shift + self.T] for i in starts])) for shift in (0, 1))
            with self.precision():
                loss = self.forward(inputs, targets)
            (loss / self.t["gradient_accumulation_steps"]).backward()
        self.optimizer.step(rate_factor(self.t, step))
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return loss

    def val_loss(self):
        return split_loss(self.model, self.val, self.T)


def milliseconds_per_step(arguments):
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, loss_of_program = checkpoint_of(arguments, FEW_UPDATES, folder)
        training = Training(Start(checkpoint), arguments)
    loss = training.val_loss()
    if not abs(loss - loss_of_program) <= arguments.tolerance:
        sys.exit(f"bench_pytorch.py: the losses differ: {loss:.6f} here, {loss_of_program:.6f} by the program; nothing was measured")
    times, begun, first_step = [], time.perf_counter(), None
    for step in range(arguments.warmup + arguments.steps):
        begin = time.perf_counter()
        loss_of_step = training.update(step)
        times.append(1e3 * (time.perf_counter() - begin))
        first_step = first_step or time.perf_counter() - begun
    return {"ms_per_step": quantiles(times[arguments.warmup :]), "first_step_seconds": round(first_step, 2),
            "val_loss_here": round(loss, 6), "val_loss_of_the_program": round(loss_of_program, 6), "last_loss": round(loss_of_step.item(), 4)}


def whole_run(arguments):
    """Trains from the checkpoint for --max_iters, evaluating and saving as the program does; the last loss."""
    start = Start(arguments.checkpoint)
    start.train["max_iters"] = arguments.max_iters
    training = Training(start, arguments)
    some_of_train = training.train[: max(training.T + 1, len(training.val) // 4)]
    saved = arguments.checkpoint.parent / "peer.pt"
    for step in range(arguments.max_iters + 1):
        if step % start.eval["eval_interval"] == 0 or step == arguments.max_iters:
            with training.precision():
                loss = training.val_loss()
                split_loss(training.model, some_of_train, training.T)
            torch.save({"model": training.model.state_dict(), "optimizer": training.optimizer.state()}, saved)
        if step < arguments.max_iters:
            training.update(step)
    return {"val_loss": round(loss, 4)}


def quantiles(times):
    ordered = sorted(times)
    at = lambda part: round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3)
    return {"median": at(0.5), "p10": at(0.1), "p90": at(0.9)}


def shared_options(arguments):
    """Of the peer and the program."""
    return ["--dtype", arguments.dtype, "--device", arguments.device, *(["--threads", str(arguments.threads)] if arguments.threads else [])]


def own_command(arguments, *more):
    command = [sys.executable, __file__, arguments.config, "--program", arguments.program.path, *shared_options(arguments), *more]
    command += ["--compile"] if arguments.compile else []
    command += [f"--set={option}" for option in arguments.set]
    return command + (["--text", str(arguments.text)] if arguments.text else [])


def own_result(command):
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(process.stdout) if process.returncode == 0 else sys.exit("bench_pytorch.py: the peer failed")


def ratios_of(figures, others):
    """Of neighbours in time."""
    ratios = [figure / other for figure, other in zip(figures, others)]
    return {"median": round(statistics.median(ratios), 2), "lowest": round(min(ratios), 2), "highest": round(max(ratios), 2)}


def device_name(device):
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def circumstances(arguments):
    return {"config": arguments.config, "dtype": arguments.dtype, "pytorch": "compiled" if arguments.compile else "eager", "pairs": arguments.pairs,
            "device": device_name(arguments.device), "threads": arguments.threads or torch.get_num_threads(), "torch": torch.__version__}


def compare_steps(arguments):
    steps = ["--warmup", str(arguments.warmup), "--steps", str(arguments.steps)]
    mine_command = ["bench", "train", arguments.config, *shared_options(arguments), *arguments.of_config, *steps]
    peer, mine = in_turns(arguments.pairs, lambda: own_result(own_command(arguments, *steps)), lambda: arguments.program.json(*mine_command))
    time_of = lambda figures: [figure["ms_per_step"]["median"] for figure in figures]
    return circumstances(arguments) | {
        "pytorch_ms": round(statistics.median(time_of(peer)), 2), "chargpt_ms": round(statistics.median(time_of(mine)), 2),
        "ratio": ratios_of(time_of(peer), time_of(mine)),
        "fraction_of_peak": round(statistics.median(f.get("fraction_of_peak", math.nan) for f in mine), 2),  # NaN of a GPU
        "peak_gflops": round(statistics.median(f.get("peak_gflops", math.nan) for f in mine), 0),
        "pytorch_first_step_seconds": peer[0]["first_step_seconds"], "losses": [peer[0]["val_loss_here"], peer[0]["val_loss_of_the_program"]]}


def compare_whole_runs(arguments):
    given = [*arguments.of_config, *(["--max_iters", str(arguments.max_iters)] if arguments.max_iters else [])]
    length = arguments.program.json("train", arguments.config, *given, "--dry-run")["max_iters"]
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, _ = checkpoint_of(arguments, ["--max_iters", "0"], folder)
        run = pathlib.Path(folder) / "mine"

        def seconds_of(work):
            begun = time.perf_counter()
            work()
            return time.perf_counter() - begun

        def theirs():
            result = {}
            command = own_command(arguments, "--checkpoint", str(checkpoint), "--max_iters", str(length))
            return {"seconds": seconds_of(lambda: result.update(own_result(command)))} | result

        def mine():
            command = ["train", arguments.config, *given, *shared_options(arguments), "--run", run, "--overwrite", "--quiet"]
            seconds = seconds_of(lambda: arguments.program.run(*command))
            return {"seconds": seconds, "val_loss": arguments.program.json("eval", run, "--checkpoint", "last")["loss"]}

        own_result(own_command(arguments, "--warmup", "0", "--steps", "1"))  # both have the same loss of the same weights
        peer, own = in_turns(arguments.pairs, theirs, mine)
    of = lambda key, results: [round(result[key], 4 if key == "val_loss" else 1) for result in results]
    return circumstances(arguments) | {
        "updates": length, "pytorch_seconds": of("seconds", peer), "chargpt_seconds": of("seconds", own),
        "ratio": ratios_of([p["seconds"] for p in peer], [m["seconds"] for m in own]),
        "pytorch_val_loss": of("val_loss", peer), "chargpt_val_loss": of("val_loss", own)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", nargs="?", default="nanogpt-cpu", help="preset or path")
    parser.add_argument("--program", default=str(ROOT / "build" / "chargpt"), help="where config and weights come from")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    parser.add_argument("--device", default="cpu", help="of both: cpu, cuda or cuda:N")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of the config, for both")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="bfloat16: autocast")
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's own choice")
    parser.add_argument("--warmup", type=int, default=20, help="steps that are not measured")
    parser.add_argument("--steps", type=int, default=200, help="steps that are measured")
    parser.add_argument("--text", type=pathlib.Path, help="in place of the config's")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="how far the losses may differ, nats")
    parser.add_argument("--against", metavar="PROGRAM", help="alternate with this chargpt")
    parser.add_argument("--pairs", type=int, default=5, help="with --against: how many pairs")
    parser.add_argument("--whole", action="store_true", help="with --against: whole runs from the start of the process")
    parser.add_argument("--max_iters", type=int, default=0, help="with --whole: steps (default: the config's)")
    parser.add_argument("--checkpoint", type=pathlib.Path, help="the whole run alone, from this checkpoint, for --max_iters")
    arguments = parser.parse_args()
    arguments.of_config = [f"--set={option}" for option in arguments.set] + (["--text", str(arguments.text.resolve())] if arguments.text else [])
    arguments.program = Program(str(pathlib.Path(arguments.against).resolve()) if arguments.against else arguments.program)
    if arguments.against:
        print(json.dumps(compare_whole_runs(arguments) if arguments.whole else compare_steps(arguments)))
        return
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    measure = whole_run if arguments.checkpoint else milliseconds_per_step
    print(json.dumps(measure(arguments) | {
        "engine": "pytorch compiled" if arguments.compile else "pytorch eager", "dtype": arguments.dtype,
        "device": device_name(arguments.device), "threads": torch.get_num_threads(), "config": arguments.config, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
