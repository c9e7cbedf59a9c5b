#!/usr/bin/env python3
"""Reference figures for networks that adapt to the text they score, computed by PyTorch in float64. Writes tests/golden/adaptation.json: the loss of each
character of a short text, each predicted before anything was learned from it. Weights come from the formulas of scripts/reference/models.py.

    python3 scripts/reference/adaptation.py            write the file
    python3 scripts/reference/adaptation.py --check    compute again and compare with the file, within 1e-5
"""
import sys

import torch

from golden import keep_or_check
from models import CASES, DEFAULTS, FORMULAS, flat, mix, model_of, strong

V, TARGETS, STRIDE = 7, 26, 3
RATE, DECAY, ALPHA, EPS = 1e-3, 0.05, 0.999, 1e-8
ADAPTATION_FORMULAS = FORMULAS | {
    "text": "character j: mix(3000 + j) mod vocab_size",
    "step": "g: gradient of the mean loss of the targets just scored; v = 0.999 v + 0.001 g^2; w -= rate g / (sqrt(v / (1 - 0.999^step)) + 1e-8);"
    " w += decay (w0 - w), w0 the first weights",
    "windows": "inputs of block_size characters, one window every `stride`, the last one short; of all but the first the targets that no earlier one held",
}  # fmt: skip


def case(name):
    m = DEFAULTS | CASES[name]
    model, rows = model_of(m, V, strong)
    p = dict(model.named_parameters())
    first = {n: w.detach().clone() for n, w in p.items()}
    squares = {n: torch.zeros_like(w) for n, w in first.items()}
    text = torch.tensor([mix(3000 + j) % V for j in range(TARGETS + 1)])
    losses, step, begin = [], 0, 0
    while len(losses) < TARGETS:
        end = min(begin + m["block_size"], TARGETS)
        logits = model(text[None, begin:end]).logits[0]
        scored = torch.nn.functional.cross_entropy(logits, text[begin + 1 : end + 1], reduction="none")[len(losses) - begin :]
        losses += flat(scored)
        gradients = torch.autograd.grad(scored.mean(), list(p.values()))
        step += 1
        with torch.no_grad():
            for (n, w), g in zip(p.items(), gradients):
                squares[n] = ALPHA * squares[n] + (1 - ALPHA) * g * g
                w -= RATE * g / ((squares[n] / (1 - ALPHA**step)).sqrt() + EPS)
                w += DECAY * (first[n] - w)
        begin += STRIDE
    return {"name": name, "model": m, "vocab_size": V, "parameters": rows, "losses": losses}


def document():
    names = ["gpt as GPT-2, with biases", "gpt, modern block", "gpt, convolutions"]
    return {"generator": "scripts/reference/adaptation.py", "torch": torch.__version__, "formulas": ADAPTATION_FORMULAS, "rate": RATE, "decay": DECAY,
            "stride": STRIDE, "targets": TARGETS, "cases": [case(name) for name in names]}  # fmt: skip


if __name__ == "__main__":
    sys.exit(keep_or_check(__doc__, lambda: {"adaptation.json": document()}))
