#!/usr/bin/env python3
"""Turns what `chargpt export RUN --format nanogpt --out DIR` wrote into ckpt.pt and meta.pkl for nanoGPT.

  scripts/chargpt_to_nanogpt.py DIR OUT

In a checkout of nanoGPT, with OUT copied to out-mine and meta.pkl beside train.bin and val.bin in data/NAME (NAME is the run's config,
`dataset` in nanogpt.json), sample.py --out_dir=out-mine writes with it, and train.py --init_from=resume --out_dir=out-mine
--dataset=NAME --block_size=N goes on with it, N being the model's. Without optimizer.safetensors ckpt.pt has no state of an
optimizer: sample.py reads it, train.py does not.
"""
import json
import math
import os
import pickle

import torch

from nanogpt_to_chargpt import Refused, checked_args, checked_tensor, main, shapes, whole_folder

KINDS = {"F32": (torch.float32, 4), "I64": (torch.int64, 8)}
LARGEST_HEADER = 64 << 20


def distinct(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(LARGEST_HEADER, len(data) - 8):
        raise Refused(f"{path}: the header is longer than the file or than {LARGEST_HEADER} bytes")
    body, tensors = data[8 + length:], {}
    try:
        header = json.loads(data[8:8 + length], object_pairs_hook=distinct)
        header.pop("__metadata__", None)
        for name, entry in header.items():
            kind, size = KINDS[entry["dtype"]]
            begin, end = entry["data_offsets"]
            if not 0 <= begin < end <= len(body) or end - begin != size * math.prod(entry["shape"]):
                raise ValueError(name)
            tensors[name] = torch.frombuffer(bytearray(body[begin:end]), dtype=kind).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, RecursionError) as error:
        raise Refused(f"{path} is damaged: {type(error).__name__}") from None
    return tensors


def number(config, name, otherwise):
    value = config.get(name, otherwise)
    if type(value) not in (int, float) or not 0 <= value < 1e6:
        raise Refused(f"nanogpt.json: config.{name} is not a number from 0 to a million")
    return float(value)


def optimizer_state(moments, expected, config):
    """The state dict of AdamW over nanoGPT's two groups, as PyTorch itself lays it out."""
    matrices = [n for n, s in expected.items() if len(s) >= 2]
    vectors = [n for n, s in expected.items() if len(s) < 2]
    parameters = {n: torch.nn.Parameter(torch.zeros(s)) for n, s in expected.items()}
    groups = [{"params": [parameters[n] for n in matrices], "weight_decay": number(config, "weight_decay", 0.1)},
              {"params": [parameters[n] for n in vectors], "weight_decay": 0.0}]
    betas = (number(config, "beta1", 0.9), number(config, "beta2", 0.95))
    if max(betas) >= 1:
        raise Refused("nanogpt.json: config.beta1 or beta2 is not below 1")
    state = torch.optim.AdamW(groups, lr=number(config, "learning_rate", 6e-4), betas=betas, eps=number(config, "adam_eps", 1e-8)).state_dict()
    step = moments.get("step")
    if step is None or step.numel() != 1:
        raise Refused("optimizer.safetensors has no step")
    for index, name in enumerate(matrices + vectors):
        entry = {"step": torch.tensor(float(step.item()))}
        for moment in ("exp_avg", "exp_avg_sq"):
            entry[moment] = checked_tensor(f"{name}.{moment}", moments.get(f"{name}.{moment}"), expected[name])
        state["state"][index] = entry
    return state


def read_about(path):
    with open(path, encoding="utf-8") as file:
        try:
            about = json.load(file)
        except (ValueError, RecursionError):
            raise Refused(f"{path} is no JSON") from None
    if type(about) is not dict or about.get("format") != "nanogpt" or about.get("version") != 1:
        raise Refused(f"{path} is not format 'nanogpt', version 1")
    symbols, step = about.get("symbols"), about.get("iter_num")
    if type(symbols) is not list or any(type(s) is not str or len(s) != 1 for s in symbols):
        raise Refused(f"{path}: symbols is not a list of characters")
    if type(step) is not int or step < 0 or type(about.get("config")) is not dict:
        raise Refused(f"{path}: iter_num or config is missing or of a wrong type")
    return about


def convert(folder, out):
    about = read_about(os.path.join(folder, "nanogpt.json"))
    args, symbols = checked_args(about.get("model_args")), about["symbols"]
    if len(symbols) != args["vocab_size"] or len(set(symbols)) != len(symbols):
        raise Refused("nanogpt.json: symbols are not vocab_size different characters")
    expected = shapes(args)
    weights = read_safetensors(os.path.join(folder, "model.safetensors"))
    if set(weights) != set(expected):
        raise Refused("model.safetensors does not hold exactly the tensors of nanoGPT's model")
    model = {n: checked_tensor(n, weights[n], shape) for n, shape in expected.items()}
    model["lm_head.weight"] = model["transformer.wte.weight"]
    best = about.get("best_val_loss")
    checkpoint = {"model": model, "model_args": args, "iter_num": about["iter_num"], "config": about["config"],
                  "best_val_loss": 1e9 if best is None else best}
    moments = os.path.join(folder, "optimizer.safetensors")
    if os.path.exists(moments):
        checkpoint["optimizer"] = optimizer_state(read_safetensors(moments), expected, about["config"])
    itos = dict(enumerate(symbols))
    with whole_folder(out) as made:
        torch.save(checkpoint, os.path.join(made, "ckpt.pt"))
        with open(os.path.join(made, "meta.pkl"), "wb") as file:
            pickle.dump({"vocab_size": len(itos), "itos": itos, "stoi": {s: i for i, s in itos.items()}}, file)


if __name__ == "__main__":
    main(convert, 2, __doc__)
