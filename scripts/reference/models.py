#!/usr/bin/env python3
"""Reference figures for the models, computed by PyTorch from the formulas alone: no module of torch.nn is used.

Writes tests/golden/models.json (logits, loss and every gradient of each model type and of a spread of gpt options, on
one tiny batch) and tests/golden/training.json (losses, gradient norms and rates of the first steps of training). All
arithmetic is float64. Weights, ids and windows come from formulas, repeated in the files themselves, so that a test in
another language can make them.

    python3 scripts/reference/models.py            write both files
    python3 scripts/reference/models.py --check    compute again and compare with the files, within 1e-5
"""
import math
import sys

import torch

from golden import keep_or_check

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


def has_bias(m, place):
    return m["bias"] and place in m["bias_places"]


def head_size(m):
    return m["head_size"] or m["n_embd"] // m["n_head"]


def parameter_shapes(m, V):
    """Names and shapes, in the order that numbers them (k)."""
    C, T, joined, mlp = m["n_embd"], m["block_size"], m["n_head"] * head_size(m), m["mlp_size"] or 4 * m["n_embd"]
    shapes = {}

    def linear(name, out, into, bias):
        shapes[name + ".weight"] = (out, into)
        if bias:
            shapes[name + ".bias"] = (out,)

    def norm(name):
        if m["norm"] != "none" and m["norm_gain"]:
            shapes[name + ".weight"] = (C,)
        if m["norm"] == "layernorm" and has_bias(m, "norm"):
            shapes[name + ".bias"] = (C,)

    def attention(name):
        linear(name + ".c_attn", 3 * joined, C, has_bias(m, "attention"))
        if m["output_projection"]:
            linear(name + ".c_proj", C, joined, has_bias(m, "attention_output"))

    prefix = "transformer." if m["type"] == "gpt" else ""
    shapes[prefix + "wte.weight"] = (V, C)
    if m["type"] in ("masked", "attention", "gpt") and m["position"] == "learned":
        shapes[prefix + "wpe.weight"] = (T, C)
    if m["type"] == "attention":
        attention("attn")
    if m["type"] != "gpt":
        linear("lm_head", V, C, True)
        return shapes
    for layer in range(m["n_layer"]):
        h = f"transformer.h.{layer}."
        if "attention" in m.get("conv_places", []):
            shapes[h + "conv_1.weight"] = (m["conv_width"], C)
        if "mlp" in m.get("conv_places", []):
            shapes[h + "conv_2.weight"] = (m["conv_width"], C)
        norm(h + "ln_1")
        attention(h + "attn")
        if m["feed_forward"]:
            norm(h + "ln_2")
            linear(h + "mlp.c_fc", mlp, C, has_bias(m, "mlp"))
            if m["activation"] == "swiglu":
                linear(h + "mlp.c_gate", mlp, C, has_bias(m, "mlp"))
            linear(h + "mlp.c_proj", C, mlp, has_bias(m, "mlp"))
    if m["final_norm"]:
        norm("transformer.ln_f")
    if not m["tie_weights"]:
        shapes["lm_head.weight"] = (V, C)
    if has_bias(m, "head"):
        shapes["lm_head.bias"] = (V,)
    return shapes


# ---- the models


def linear(p, name, x):
    y = x @ p[name + ".weight"].T
    return y + p[name + ".bias"] if name + ".bias" in p else y


def rms(x, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)


def norm(p, m, name, x):
    if m["norm"] == "none":
        return x
    if m["norm"] == "layernorm":
        centred = x - x.mean(-1, keepdim=True)
        x = centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + m["norm_eps"])
    else:
        x = rms(x, m["norm_eps"])
    if name + ".weight" in p:
        x = x * p[name + ".weight"]
    return x + p[name + ".bias"] if name + ".bias" in p else x


def convolve(p, name, x):
    """Each channel plus a weighted sum of its last values in the window."""
    if name + ".weight" not in p:
        return x
    w, T = p[name + ".weight"], x.shape[-2]
    y = []
    for t in range(T):
        y.append(x[..., t, :] + sum(w[j] * x[..., t - j, :] for j in range(min(len(w), t + 1))))
    return torch.stack(y, -2)


def causal_softmax(scores):
    T = scores.shape[-1]
    seen = torch.ones(T, T, dtype=torch.bool).tril()
    e = torch.where(seen, torch.exp(scores - scores.detach().amax(-1, keepdim=True)), torch.zeros(()).double())
    return e / e.sum(-1, keepdim=True)


def rotate(x, base):
    """Feature i and feature i + hs/2 as the plane that position p turns by p / base^(2i/hs)."""
    T, hs = x.shape[-2:]
    rows = []
    for i in range(hs // 2):
        angle = torch.arange(T, dtype=torch.float64) / base ** (2 * i / hs)
        rows.append((x[..., i] * angle.cos() - x[..., i + hs // 2] * angle.sin(),
                     x[..., i] * angle.sin() + x[..., i + hs // 2] * angle.cos()))  # fmt: skip
    return torch.stack([a for a, _ in rows] + [b for _, b in rows], -1)


def attention(p, m, name, x):
    """One head after the other, as the papers write it."""
    nh, hs, C = m["n_head"], head_size(m), m["n_embd"]
    qkv = linear(p, name + ".c_attn", x)
    scale = {"head": hs**-0.5, "width": C**-0.5, "none": 1.0}[m["attention_scale"]]
    heads = []
    for h in range(nh):
        q, k, v = (qkv[..., (part * nh + h) * hs : (part * nh + h + 1) * hs] for part in range(3))
        if m["qk_norm"]:
            q, k = rms(q, m["norm_eps"]), rms(k, m["norm_eps"])
        if m["position"] == "rope":
            q, k = rotate(q, m["rope_base"]), rotate(k, m["rope_base"])
        heads.append(causal_softmax(q @ k.transpose(-2, -1) * scale) @ v)
    joined = torch.cat(heads, -1)
    return linear(p, name + ".c_proj", joined) if m["output_projection"] else joined


def mlp(p, m, name, x):
    h = linear(p, name + ".c_fc", x)
    kind = m["activation"]
    if kind == "gelu":
        h = h * 0.5 * (1 + torch.erf(h / math.sqrt(2)))
    elif kind == "gelu_tanh":
        h = h * 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
    elif kind == "relu":
        h = h.clamp(min=0)
    elif kind == "relu2":
        h = h.clamp(min=0) ** 2
    else:
        gate = linear(p, name + ".c_gate", x)
        h = h * gate / (1 + torch.exp(-gate))
    return linear(p, name + ".c_proj", h)


def sinusoids(T, C):
    table = torch.zeros(T, C, dtype=torch.float64)
    for position in range(T):
        for i in range(C):
            angle = position / 10000 ** (2 * (i // 2) / C)
            table[position, i] = math.cos(angle) if i % 2 else math.sin(angle)
    return table


def embed(p, m, prefix, ids):
    x = p[prefix + "wte.weight"][ids]
    T = ids.shape[1]
    if m["position"] == "learned":
        return x + p[prefix + "wpe.weight"][:T]
    return x + sinusoids(T, m["n_embd"]) if m["position"] == "sinusoidal" else x


def gpt(p, m, ids):
    x = embed(p, m, "transformer.", ids)
    for layer in range(m["n_layer"]):
        h = f"transformer.h.{layer}."
        sublayers = [("ln_1", lambda y: attention(p, m, h + "attn", convolve(p, h + "conv_1", y)))]
        if m["feed_forward"]:
            sublayers.append(("ln_2", lambda y: mlp(p, m, h + "mlp", convolve(p, h + "conv_2", y))))
        for ln, sublayer in sublayers:
            if m["norm_place"] == "pre":
                x = x + sublayer(norm(p, m, h + ln, x))
            else:
                x = norm(p, m, h + ln, x + sublayer(x))
    if m["final_norm"]:
        x = norm(p, m, "transformer.ln_f", x)
    logits = x @ p["transformer.wte.weight" if m["tie_weights"] else "lm_head.weight"].T
    return logits + p["lm_head.bias"] if "lm_head.bias" in p else logits


def logits_of(p, m, ids):
    if m["type"] == "gpt":
        return gpt(p, m, ids)
    x = p["wte.weight"][ids]
    T = ids.shape[1]
    if m["type"] == "average":
        steps = torch.arange(1, T + 1, dtype=torch.float64)[:, None]
        x = x.cumsum(1) / steps if m["causal"] else x.mean(1, keepdim=True).expand_as(x)
    elif m["type"] == "masked":
        x = x + p["wpe.weight"][:T]
        x = causal_softmax(x @ x.transpose(-2, -1)) @ x
    elif m["type"] == "attention":
        x = attention(p, m, "attn", embed(p, m, "", ids))
    return linear(p, "lm_head", x)


def cross_entropy(logits, targets):
    log_p = logits - torch.logsumexp(logits, -1, keepdim=True)
    return -log_p.gather(-1, targets[..., None]).mean()


# ---- logits and gradients


def numbered(shapes, fill):
    """Rows of the file: parameter number, offset and scale of each name; fill(name, shape) -> (offset, scale)."""
    rows = []
    for k, (name, shape) in enumerate(shapes.items()):
        offset, scale = fill(name, shape)
        rows.append({"name": name, "shape": list(shape), "k": k, "offset": offset, "scale": scale})
    return rows


def filled(rows):
    return {r["name"]: weights(r["shape"], r["k"], r["offset"], r["scale"]).requires_grad_() for r in rows}


def flat(tensor):
    return [float(f"{v:.8g}") for v in tensor.detach().reshape(-1).tolist()]


def strong(name, shape):
    """Large enough that every non-linearity bends."""
    if "ln_" in name:
        return (1.0, 0.25) if name.endswith("weight") else (0.0, 0.25)
    return 0.0, 0.5


def model_case(name, options):
    V, B, T = 7, 2, 5
    m = DEFAULTS | options
    rows = numbered(parameter_shapes(m, V), strong)
    p = filled(rows)
    ids = torch.tensor([[mix(1000 + b * T + t) % V for t in range(T)] for b in range(B)])
    targets = torch.tensor([[mix(2000 + b * T + t) % V for t in range(T)] for b in range(B)])
    logits = logits_of(p, m, ids)
    loss = cross_entropy(logits, targets)
    loss.backward()
    return {
        "name": name, "model": m, "vocab_size": V, "ids": ids.tolist(), "targets": targets.tolist(),
        "parameters": rows, "loss": loss.item(), "logits": flat(logits),
        "gradients": {n: flat(t.grad) for n, t in p.items()},
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


def rate(t, step):
    """Linear warm-up, cosine down to min_lr at lr_decay_iters, then min_lr (Loshchilov & Hutter 2017)."""
    if step < t["warmup_iters"]:
        return t["learning_rate"] * (step + 1) / (t["warmup_iters"] + 1)
    if step > t["lr_decay_iters"]:
        return t["min_lr"]
    done = (step - t["warmup_iters"]) / (t["lr_decay_iters"] - t["warmup_iters"])
    return t["min_lr"] + 0.5 * (1 + math.cos(math.pi * done)) * (t["learning_rate"] - t["min_lr"])


def gpt2_like(n_layer):
    """Uniform with GPT-2's standard deviations: 0.02, and 0.02 / sqrt(2 L) where a residual branch ends."""

    def fill(name, shape):
        if "ln_" in name:
            return (1.0, 0.0) if name.endswith("weight") else (0.0, 0.0)
        if name.endswith("bias"):
            return 0.0, 0.0
        std = 0.02 / math.sqrt(2 * n_layer) if "c_proj" in name else 0.02
        return 0.0, std * math.sqrt(3)

    return fill


def windows(t, block_size, tokens, step, micro):
    first = 0x10000000 + (step * t["gradient_accumulation_steps"] + micro) * t["batch_size"]
    starts = [mix(first + row) % (TOKENS - block_size) for row in range(t["batch_size"])]
    return (torch.stack([tokens[s + shift : s + shift + block_size] for s in starts]) for shift in (0, 1))


def training_run(name, options):
    m, t = DEFAULTS | options["model"], TRAIN | options["train"]
    rows = numbered(parameter_shapes(m, VOCAB), gpt2_like(m["n_layer"]))
    p = filled(rows)
    tokens = torch.tensor([(mix(j // 5) % 13) * 5 + j % 5 for j in range(TOKENS)])
    optimizer = torch.optim.AdamW(
        [{"params": [w for w in p.values() if w.dim() >= 2], "weight_decay": t["weight_decay"]},
         {"params": [w for w in p.values() if w.dim() < 2], "weight_decay": 0.0}],
        betas=(t["beta1"], t["beta2"]), eps=t["adam_eps"])  # fmt: skip
    losses, norms, rates = [], [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for micro in range(t["gradient_accumulation_steps"]):
            x, y = windows(t, m["block_size"], tokens, step, micro)
            loss = cross_entropy(logits_of(p, m, x), y) / t["gradient_accumulation_steps"]
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(list(p.values()), t["grad_clip"]).item())
        rates.append(rate(t, step))
        for group in optimizer.param_groups:
            group["lr"] = rates[-1]
        optimizer.step()
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
