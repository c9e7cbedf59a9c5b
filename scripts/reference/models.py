#!/usr/bin/env python3
"""Reference figures for the models and their training, in PyTorch and float64: gpt as peer.py has it, the teaching models as below.

Writes tests/golden/models.json (logits, loss and every gradient of each model type and of a spread of gpt options, on one tiny batch) and
tests/golden/training.json (losses, gradient norms and rates of the first steps of training). Weights, ids and windows come from formulas, repeated in
the files themselves, so that a test in another language can make them.

    python3 scripts/reference/models.py            write both files
    python3 scripts/reference/models.py --check    compute again and compare with the files, within 1e-5
"""
import math
import sys
import types

import torch
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from golden import keep_or_check
from peer import Optimizer, gpt, gpt_config, modeling_chargpt, rate_factor

torch.set_default_dtype(torch.float64)
MASK32 = 0xFFFFFFFF

FORMULAS = {
    "mix": "32-bit unsigned: x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16",
    "weights": "element i (row-major, from 0) of parameter number k: offset + scale * (mix(i + 0x9e3779b9 * (k + 1)) / 2^31 - 1), in double",
}


def mix(x):
    """The finaliser of MurmurHash3, on an int or an int64 tensor: 32 well mixed bits of 32."""
    x = x & MASK32
    x = x ^ (x >> 16)
    x = (x * 0x85EBCA6B) & MASK32
    x = x ^ (x >> 13)
    x = (x * 0xC2B2AE35) & MASK32
    return x ^ (x >> 16)


def weights(shape, k, offset, scale):
    i = torch.arange(math.prod(shape), dtype=torch.int64)
    return (offset + scale * (mix(i + 0x9E3779B9 * (k + 1)).double() / 2**31 - 1)).reshape(shape)


# ---- options: every one that a figure depends on is written into the file

DEFAULTS = {
    "type": "gpt", "n_layer": 2, "n_head": 2, "n_embd": 8, "block_size": 6, "head_size": 0, "mlp_size": 12,
    "bias": False, "bias_places": ["attention", "attention_output", "mlp", "norm"],
    "norm": "layernorm", "norm_place": "pre", "norm_gain": True, "norm_eps": 1e-5, "final_norm": True,
    "position": "learned", "rope_base": 10000.0, "activation": "gelu", "feed_forward": True,
    "attention_scale": "head", "qk_norm": False, "output_projection": True, "tie_weights": True, "causal": True,
}  # fmt: skip

CASES = {
    "bigram": {"type": "bigram"},
    "average": {"type": "average"},
    "average that looks ahead": {"type": "average", "causal": False},
    "masked": {"type": "masked"},
    "attention, one head": {"type": "attention", "n_head": 1, "output_projection": False},
    "attention, two heads, projected": {
        "type": "attention", "bias": True, "position": "rope", "head_size": 6, "rope_base": 50.0},
    "gpt": {},
    "gpt as GPT-2, with biases": {"bias": True},
    "gpt of the teaching notebook": {
        "n_layer": 3, "n_head": 1, "bias": True, "bias_places": ["mlp", "norm", "head"], "activation": "relu",
        "attention_scale": "width", "final_norm": False, "output_projection": False, "tie_weights": False},
    "gpt, modern block": {
        "norm": "rmsnorm", "norm_gain": False, "norm_eps": 1e-6, "position": "rope", "activation": "relu2",
        "qk_norm": True, "tie_weights": False},
    "gpt, post-norm, sinusoidal": {
        "norm_place": "post", "final_norm": False, "position": "sinusoidal", "activation": "gelu_tanh", "bias": True},
    "gpt, swiglu, wide heads": {
        "norm": "rmsnorm", "position": "none", "activation": "swiglu", "head_size": 5, "bias": True,
        "bias_places": ["attention", "attention_output", "mlp", "head"]},
    "gpt, convolutions": {
        "conv_places": ["attention", "mlp"], "conv_width": 3, "position": "rope", "norm": "rmsnorm", "qk_norm": True},
    "gpt, a convolution longer than the window, post-norm": {
        "conv_places": ["mlp"], "conv_width": 8, "norm_place": "post", "activation": "swiglu", "bias": True},
    "gpt, attention only": {
        "norm": "none", "feed_forward": False, "attention_scale": "none", "qk_norm": True, "n_head": 4},
}  # fmt: skip


# ---- the models


class Teaching(torch.nn.Module):
    """The models of a course on the way to gpt: what precedes a token is ignored, averaged, or attended to."""

    def __init__(self, m, vocab_size):
        super().__init__()
        self.m, config = m, gpt_config(m, vocab_size)
        self.wte = torch.nn.Embedding(vocab_size, m["n_embd"])
        if m["type"] in ("masked", "attention") and m["position"] == "learned":
            self.wpe = torch.nn.Embedding(m["block_size"], m["n_embd"])
        self.attn = modeling_chargpt.Attention(config, 0) if m["type"] == "attention" else None
        self.lm_head = torch.nn.Linear(m["n_embd"], vocab_size)

    def forward(self, ids):
        x, positions = self.wte(ids), torch.arange(ids.shape[1])  # (B, T, C), (T)
        if hasattr(self, "wpe"):
            x = x + self.wpe.weight[: len(positions)]
        if self.m["type"] == "average":
            x = x.cumsum(1) / (positions + 1)[:, None] if self.m["causal"] else x.mean(1, keepdim=True).expand_as(x)
        if self.m["type"] == "masked":
            x = scaled_dot_product_attention(x, x, x, is_causal=True, scale=1.0)
        if self.attn:
            angles = modeling_chargpt.angles_of(positions, self.attn.head_size, self.m["rope_base"])
            x = self.attn(x, (angles.cos(), angles.sin()) if self.m["position"] == "rope" else None, None, None)
        return types.SimpleNamespace(logits=self.lm_head(x))


def model_of(m, vocab_size, spread):
    """A model with weights by the formula, spread(name) = (offset, scale) of each, and the rows of the file that say so."""
    model = (gpt if m["type"] == "gpt" else Teaching)(m, vocab_size)
    rows = []
    for k, (name, parameter) in enumerate(model.named_parameters()):
        offset, scale = spread(name)
        rows.append({"name": name, "shape": list(parameter.shape), "k": k, "offset": offset, "scale": scale})
        parameter.data = weights(parameter.shape, k, offset, scale)
    return model, rows


# ---- logits and gradients


def flat(tensor):
    return [float(f"{v:.8g}") for v in tensor.detach().reshape(-1).tolist()]


def strong(name):
    """Large enough that every non-linearity bends."""
    if "ln_" in name:
        return (1.0, 0.25) if name.endswith("weight") else (0.0, 0.25)
    return 0.0, 0.5


def model_case(name, options):
    V, B, T = 7, 2, 5
    m = DEFAULTS | options
    model, rows = model_of(m, V, strong)
    ids = torch.tensor([[mix(1000 + b * T + t) % V for t in range(T)] for b in range(B)])
    targets = torch.tensor([[mix(2000 + b * T + t) % V for t in range(T)] for b in range(B)])
    logits = model(ids).logits
    loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    return {
        "name": name, "model": m, "vocab_size": V, "ids": ids.tolist(), "targets": targets.tolist(),
        "parameters": rows, "loss": loss.item(), "logits": flat(logits),
        "gradients": {n: flat(t.grad) for n, t in model.named_parameters()},
    }  # fmt: skip


# ---- training

RUNS = {
    "nanogpt-cpu": {
        "model": {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "mlp_size": 0},
        "train": {"batch_size": 12, "gradient_accumulation_steps": 1, "learning_rate": 1e-3, "min_lr": 1e-4,
                  "warmup_iters": 100, "lr_decay_iters": 2000, "max_iters": 2000},
    },
    "whole schedule in 20 steps, accumulated": {
        "model": {"n_layer": 2, "n_head": 2, "n_embd": 32, "block_size": 16, "mlp_size": 0, "bias": True},
        "train": {"batch_size": 4, "gradient_accumulation_steps": 2, "learning_rate": 1e-2, "min_lr": 1e-3,
                  "warmup_iters": 4, "lr_decay_iters": 16, "max_iters": 20},
    },
}  # fmt: skip
TRAIN = {"weight_decay": 0.1, "beta1": 0.9, "beta2": 0.99, "adam_eps": 1e-8, "grad_clip": 1.0, "lr_schedule": "cosine"}
TRAINING_FORMULAS = FORMULAS | {
    "tokens": "token j of tokens: (mix(j div 5) mod 13) * 5 + j mod 5",
    "windows": "start of row r of micro-batch a of step s (all from 0): mix(0x10000000 + (s * gradient_accumulation_steps + a)"
    " * batch_size + r) mod (tokens - block_size); y is x one token later",
    "rules": "loss: mean over all micro-batches, before the update; grad_norm: of that mean, before clipping to grad_clip;"
    " AdamW with decoupled decay on parameters of two dimensions; rates as learning_rates",
}
TOKENS, STEPS, VOCAB = 10000, 20, 65


def gpt2_like(n_layer):
    """Uniform with GPT-2's standard deviations: 0.02, and 0.02 / sqrt(2 L) where a residual branch ends."""

    def spread(name):
        if "ln_" in name:
            return (1.0, 0.0) if name.endswith("weight") else (0.0, 0.0)
        if name.endswith("bias"):
            return 0.0, 0.0
        std = 0.02 / math.sqrt(2 * n_layer) if "c_proj" in name else 0.02
        return 0.0, std * math.sqrt(3)

    return spread


def windows(t, block_size, tokens, step, micro):
    first = 0x10000000 + (step * t["gradient_accumulation_steps"] + micro) * t["batch_size"]
    starts = [mix(first + row) % (TOKENS - block_size) for row in range(t["batch_size"])]
    return (torch.stack([tokens[s + shift : s + shift + block_size] for s in starts]) for shift in (0, 1))


def training_run(name, options):
    m, t = DEFAULTS | options["model"], TRAIN | options["train"]
    model, rows = model_of(m, VOCAB, gpt2_like(m["n_layer"]))
    tokens = torch.tensor([(mix(j // 5) % 13) * 5 + j % 5 for j in range(TOKENS)])
    optimizer = Optimizer(model, t | {"groups": [], "ema": 0})
    losses, norms, rates = [], [], []
    for step in range(STEPS):
        total = 0.0
        for micro in range(t["gradient_accumulation_steps"]):
            x, y = windows(t, m["block_size"], tokens, step, micro)
            loss = cross_entropy(model(x).logits.flatten(0, 1), y.flatten()) / t["gradient_accumulation_steps"]
            loss.backward()
            total += loss.item()
        rates.append(t["learning_rate"] * rate_factor(t, step))
        norms.append(optimizer.step(rate_factor(t, step)).item())
        losses.append(total)
    return {
        "name": name, "model": m, "train": t, "vocab_size": VOCAB, "tokens": TOKENS, "steps": STEPS, "parameters": rows,
        "losses": losses, "grad_norms": norms, "learning_rates": rates,
    }  # fmt: skip


# ---- files


def documents():
    head = {"generator": "scripts/reference/models.py", "torch": torch.__version__}
    return {
        "models.json": head | {"formulas": FORMULAS, "cases": [model_case(n, o) for n, o in CASES.items()]},
        "training.json": head | {"formulas": TRAINING_FORMULAS, "runs": [training_run(n, o) for n, o in RUNS.items()]},
    }


if __name__ == "__main__":
    sys.exit(keep_or_check(__doc__, documents))
