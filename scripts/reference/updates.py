#!/usr/bin/env python3
"""Reference figures for the update rule muon, as peer.py has it, and for AdamW, as PyTorch has it, in float64. Writes tests/golden/updates.json: values and moments after each of some steps of small
parameters. Weights and gradients come from the formulas of scripts/reference/models.py, which the file repeats.

    python3 scripts/reference/updates.py            write the file
    python3 scripts/reference/updates.py --check    compute again and compare with the file, within 1e-5
"""
import sys

import torch

from golden import keep_or_check
from models import FORMULAS, flat, weights
from peer import Muon

UPDATES = [{"lr_factor": 1.0, "gradient_scale": 1.0}, {"lr_factor": 0.5, "gradient_scale": 0.25}, {"lr_factor": 2.0, "gradient_scale": 1.0}]

MUON = {
    "learning_rate": 0.01, "weight_decay": 0.2, "momentum": 0.9,
    # One matrix each, but the first: three, one above the other.
    "parameters": [
        {"name": "stack", "shape": [12, 4], "stacked": 3}, {"name": "square", "shape": [4, 4], "stacked": 1},
        {"name": "tall", "shape": [12, 4], "stacked": 1}, {"name": "wide", "shape": [4, 10], "stacked": 1},
        {"name": "row", "shape": [1, 6], "stacked": 1}],
    "updates": UPDATES,
}  # fmt: skip

ADAMW = {
    "learning_rate": 0.01, "weight_decay": 0.2, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "size": 37,
    "updates": UPDATES,
}  # fmt: skip

UPDATE_FORMULAS = FORMULAS | {
    "muon": "values: weights of parameter number k (from 0) with offset 0 and scale 0.5; gradient of update s (from 0): the same"
    " of number 100 * (s + 1) + k",
    "adamw": "values: weights of number 0 with offset 0 and scale 0.5; gradient of update s: the same of number 100 * (s + 1)",
}


def muon():
    """By the peer, which takes the three matrices of c_attn apart."""
    c = MUON
    named = [("c_attn.weight" if p["stacked"] == 3 else p["name"], torch.nn.Parameter(weights(p["shape"], k, 0.0, 0.5))) for k, p in enumerate(c["parameters"])]
    optimizer, after = Muon(named, c | {"optimizer": "muon"}), []
    for s, update in enumerate(c["updates"]):
        for k, (_, weight) in enumerate(named):
            weight.grad = update["gradient_scale"] * weights(weight.shape, 100 * (s + 1) + k, 0.0, 0.5)
        optimizer.step(update["lr_factor"])
        moments = {shape: iter(stacked) for shape, stacked in optimizer.moments.items()}
        of_each = [torch.cat([next(moments[tuple(part.shape)]) for part in weight.chunk(p["stacked"])]) for (_, weight), p in zip(named, c["parameters"])]
        after.append({"values": [flat(weight) for _, weight in named], "moments": [flat(moment) for moment in of_each]})
    return c | {"after": after}


def adamw():
    """PyTorch's own, which is given scaled gradients."""
    c = ADAMW
    values = torch.nn.Parameter(weights([c["size"]], 0, 0.0, 0.5))
    optimizer = torch.optim.AdamW([values], betas=(c["beta1"], c["beta2"]), eps=c["eps"], weight_decay=c["weight_decay"])
    after = []
    for s, update in enumerate(c["updates"]):
        optimizer.param_groups[0]["lr"] = c["learning_rate"] * update["lr_factor"]
        values.grad = update["gradient_scale"] * weights([c["size"]], 100 * (s + 1), 0.0, 0.5)
        optimizer.step()
        state = optimizer.state[values]
        after.append({"values": flat(values.detach()), "moment1": flat(state["exp_avg"]), "moment2": flat(state["exp_avg_sq"])})
    return c | {"after": after}


def document():
    return {"generator": "scripts/reference/updates.py", "torch": torch.__version__, "formulas": UPDATE_FORMULAS,
            "muon": muon(), "adamw": adamw()}  # fmt: skip


if __name__ == "__main__":
    sys.exit(keep_or_check(__doc__, lambda: {"updates.json": document()}))
