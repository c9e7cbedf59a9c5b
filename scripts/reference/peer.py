"""chargpt's models and their training in PyTorch: what the figures of tests/golden come from, and what benchmarks are run against.

The gpt is the one that `chargpt export` gives to transformers, src/exchange/transformers/modeling_chargpt.py. Parameters have the program's names.
Needs torch and transformers.
"""
import json
import math
import pathlib
import re
import sys

import torch
from safetensors import safe_open

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "src/exchange/transformers"))
import modeling_chargpt  # noqa: E402 (found by the line above)


def gpt_config(options, vocab_size):
    """`options`: of a config's section `model`."""
    known = {name: value for name, value in options.items() if name in modeling_chargpt.DEFAULTS}
    return modeling_chargpt.ChargptConfig(**known, vocab_size=vocab_size, tie_word_embeddings=options["tie_weights"], use_cache=False)


def gpt(options, vocab_size):
    """Maps ids (B, T) to an object whose `logits` are (B, T, V)."""
    return modeling_chargpt.ChargptForCausalLM(gpt_config(options, vocab_size))


def read(path):
    """The tensors of a file of the program by name, and its metadata."""
    with safe_open(path, "pt") as file:
        about = {name: json.loads(text) for name, text in file.metadata().items() if text.startswith("{")}
        return {name: file.get_tensor(name) for name in file.keys()}, about


def rate_factor(t, step):
    """Share of the peak rate: warm-up, then down to min_lr as a cosine (Loshchilov & Hutter 2017) or a line."""
    if step < t["warmup_iters"]:
        return (step + 1) / (t["warmup_iters"] + 1)
    end = t["lr_decay_iters"] or t["max_iters"]
    progress = min(1.0, (step - t["warmup_iters"]) / max(1, end - t["warmup_iters"]))
    left = 0.5 * (1 + math.cos(math.pi * progress)) if t["lr_schedule"] == "cosine" else 1 - progress
    lowest = t["min_lr"] / t["learning_rate"]
    return lowest + left * (1 - lowest)


class Muon:
    """Jordan et al. 2024, on all matrices of one shape at once; q, k and v are one matrix each. muon_rows: all rows of an update get one length."""

    def __init__(self, weights, group):
        self.rate, self.momentum, self.decay = group["learning_rate"], group["momentum"], group["weight_decay"]
        self.weights, self.by_shape, self.equal_rows = weights, by_shape(weights), group["optimizer"] == "muon_rows"
        self.moments = {shape: torch.zeros_like(torch.stack(parts)) for shape, parts in self.by_shape.items()}

    @torch.no_grad()
    def step(self, factor):
        gradients = by_shape((name, weight.grad) for name, weight in self.weights)
        for shape, parts in self.by_shape.items():
            g = torch.stack(gradients[shape])
            moment = self.moments[shape].lerp_(g, 1 - self.momentum)
            update = orthogonal(g.lerp(moment, self.momentum)) * max(1.0, shape[0] / shape[1]) ** 0.5
            update = torch.nn.functional.normalize(update, dim=-1) * update.square().sum(-1, True).mean(1, True).sqrt() if self.equal_rows else update
            rate = self.rate * factor
            for weight, change in zip(parts, update):
                weight.mul_(1 - rate * self.decay).sub_(change, alpha=rate)


def by_shape(named):
    """The matrices of each shape."""
    found = {}
    for name, matrix in named:
        for part in matrix.detach().chunk(3) if name.endswith("c_attn.weight") else [matrix.detach()]:
            found.setdefault(tuple(part.shape), []).append(part)
    return found


def orthogonal(u):  # (n, rows, columns)
    """Five steps of Newton and Schulz towards the nearest orthogonal matrices."""
    tall = u.shape[1] > u.shape[2]
    x = u.mT if tall else u
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)  # what begins at zero has no gradient at first
    for _ in range(5):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if tall else x


class Optimizer:
    """Parameters in the groups of a config's section `train`, the first match of train.groups before the rest."""

    def __init__(self, model, t):
        named, adamw, self.muon, self.t = dict(model.named_parameters()), [], [], t
        for stated in [*t["groups"], {"match": r"ln_|bias$", "weight_decay": 0.0}, {"match": ""}]:
            rate, decay = stated.get("lr_scale", 1) * t["learning_rate"], t["weight_decay"]
            group = {"learning_rate": rate, "weight_decay": decay, "optimizer": "adamw", **stated}
            mine = [(name, named.pop(name)) for name in list(named) if re.search(group["match"], name)]
            if group["optimizer"].startswith("muon"):
                self.muon.append(Muon(mine, group))
            elif mine:
                adamw.append({"params": [weight for _, weight in mine], "lr": group["learning_rate"], "weight_decay": group["weight_decay"]})
        self.weights = list(model.parameters())
        self.adamw = torch.optim.AdamW(adamw, betas=(t["beta1"], t["beta2"]), eps=t["adam_eps"], fused=True)
        self.rates = [group["lr"] for group in self.adamw.param_groups]
        self.updates, self.averages = 0, [w.detach().clone() for w in self.weights] if t["ema"] > 0 else []

    def step(self, factor):
        """An update at this share of the peak rates; the gradients go. Returns their norm before clipping."""
        for group, rate in zip(self.adamw.param_groups, self.rates):
            group["lr"] = rate * factor
        norm = torch.nn.utils.clip_grad_norm_(self.weights, self.t["grad_clip"] or math.inf)
        for optimizer in self.muon:
            optimizer.step(factor)
        self.adamw.step()
        for weight in self.weights:
            weight.grad = None
        self.updates += 1
        if self.averages:
            decay = min(self.t["ema"], (1 + self.updates) / (10 + self.updates))
            torch._foreach_lerp_(self.averages, [weight.detach() for weight in self.weights], 1 - decay)
        return norm
