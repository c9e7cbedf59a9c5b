#!/usr/bin/env python3
"""Turns a checkpoint of nanoGPT (ckpt.pt) and its vocabulary (meta.pkl) into a folder that `chargpt import` reads.

  scripts/nanogpt_to_chargpt.py ckpt.pt meta.pkl OUT
  chargpt import OUT --text FILE    FILE: the text that it was trained on; `chargpt resume` goes on with the run

OUT gets model.safetensors, optimizer.safetensors (exp_avg and exp_avg_sq by parameter name, and the
step) and nanogpt.json. A checkpoint as people share them, without optimizer and step, gives a model that
cannot be resumed. Both inputs are hostile until parsed: neither may run code when it is loaded.
"""
import contextlib
import io
import json
import math
import os
import pickle
import shutil
import sys
import warnings

import torch

LARGEST_META = 64 << 20
LARGEST_VOCABULARY = 0x110000
LARGEST_SIZE = 1 << 20
MODEL_ARGS = {"n_layer", "n_head", "n_embd", "block_size", "bias", "vocab_size", "dropout"}


class Refused(Exception):
    """The input is not what nanoGPT writes; the message is the one line that says so."""


class PlainUnpickler(pickle.Unpickler):
    """Dictionaries, lists, strings and numbers need no global, so every global is refused."""

    def find_class(self, module, name):
        raise Refused(f"meta.pkl asks for {module}.{name}: it may hold only dict, list, str and int")


def read_symbols(path):
    if os.path.getsize(path) > LARGEST_META:
        raise Refused(f"{path} is larger than {LARGEST_META} bytes: no vocabulary of characters is")
    with open(path, "rb") as file:
        data = file.read(LARGEST_META + 1)
    try:
        meta = PlainUnpickler(io.BytesIO(data)).load()
    except Refused:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise Refused(f"{path} is no pickle that can be read: {type(error).__name__}") from None
    itos = meta.get("itos") if type(meta) is dict else None
    if type(itos) is not dict or not 0 < len(itos) <= LARGEST_VOCABULARY:
        raise Refused(f"{path} has no table 'itos' from ids to characters")
    if any(type(id) is not int for id in itos) or sorted(itos) != list(range(len(itos))):
        raise Refused(f"{path}: the ids of 'itos' are not 0 to {len(itos) - 1}")
    symbols = [itos[id] for id in range(len(itos))]
    if any(type(s) is not str or len(s) != 1 or 0xD800 <= ord(s) < 0xE000 for s in symbols):
        raise Refused(f"{path}: an entry of 'itos' is not one character")
    if len(set(symbols)) != len(symbols):
        raise Refused(f"{path}: a character occurs twice in 'itos'")
    return symbols


def shapes(args):
    """Names and shapes in the order of named_parameters(), which the optimizer's indices follow."""
    width, found = args["n_embd"], {}
    found["transformer.wte.weight"] = (args["vocab_size"], width)
    found["transformer.wpe.weight"] = (args["block_size"], width)

    def add(name, *shape):
        found[name + ".weight"] = shape
        if args["bias"]:
            found[name + ".bias"] = shape[:1]

    for layer in range(args["n_layer"]):
        block = f"transformer.h.{layer}."
        add(block + "ln_1", width)
        add(block + "attn.c_attn", 3 * width, width)
        add(block + "attn.c_proj", width, width)
        add(block + "ln_2", width)
        add(block + "mlp.c_fc", 4 * width, width)
        add(block + "mlp.c_proj", width, 4 * width)
    add("transformer.ln_f", width)
    return found


def checked_args(args):
    if type(args) is not dict or not MODEL_ARGS <= set(args):
        raise Refused(f"the checkpoint's model_args lack one of {', '.join(sorted(MODEL_ARGS))}")
    for name in ("n_layer", "n_head", "n_embd", "block_size", "vocab_size"):
        if type(args[name]) is not int or not 0 < args[name] <= LARGEST_SIZE:
            raise Refused(f"model_args.{name} is not a whole number from 1 to {LARGEST_SIZE}")
    if type(args["bias"]) is not bool:
        raise Refused("model_args.bias is neither True nor False")
    if type(args["dropout"]) not in (int, float) or not 0 <= args["dropout"] < 1:
        raise Refused("model_args.dropout is not a number from 0 to below 1")
    if args["n_layer"] > 1024 or args["n_embd"] % args["n_head"]:
        raise Refused("model_args: more than 1024 layers, or n_embd is no multiple of n_head")
    return {name: args[name] for name in sorted(MODEL_ARGS)}


def checked_tensor(name, tensor, shape):
    if not isinstance(tensor, torch.Tensor) or tuple(tensor.shape) != shape:
        raise Refused(f"{name} is missing or has not the shape {list(shape)}")
    if not tensor.is_floating_point():
        raise Refused(f"{name} holds {tensor.dtype}, not floating point numbers")
    return tensor.detach().float().contiguous()


def read_weights(state, expected):
    if type(state) is not dict and not hasattr(state, "items"):
        raise Refused("the checkpoint has no state dict 'model'")
    named = {}
    for name, tensor in state.items():
        name = str(name).removeprefix("_orig_mod.")
        if name in named:
            raise Refused(f"{name} occurs twice in the checkpoint")
        named[name] = tensor
    head = named.pop("lm_head.weight", None)
    masks = {n for n in named if n.endswith((".attn.bias", ".attn.masked_bias"))}
    unknown = sorted(set(named) - set(expected) - masks)
    if unknown:
        raise Refused(f"the checkpoint holds {unknown[0]}, which nanoGPT's model has not")
    weights = {n: checked_tensor(n, named.get(n), shape) for n, shape in expected.items()}
    table = weights["transformer.wte.weight"]
    if head is not None and not torch.equal(checked_tensor("lm_head.weight", head, tuple(table.shape)), table):
        raise Refused("lm_head.weight differs from transformer.wte.weight: nanoGPT ties them")
    return weights


def read_moments(optimizer, expected):
    """nanoGPT numbers its parameters through two groups: matrices first, then the vectors. Empty: there are none."""
    if optimizer is None:
        return {}
    order = [n for n, s in expected.items() if len(s) >= 2] + [n for n, s in expected.items() if len(s) < 2]
    state = optimizer.get("state") if type(optimizer) is dict else None
    if type(state) is not dict:
        raise Refused("the checkpoint has no optimizer state")
    if not state:
        return {}  # saved before the first step
    groups = optimizer.get("param_groups")
    decayed = sum(len(s) >= 2 for s in expected.values())
    wanted = [list(range(decayed)), list(range(decayed, len(order)))]
    if type(groups) is not list or [g.get("params") for g in groups if type(g) is dict] != wanted:
        raise Refused("the optimizer's groups are not nanoGPT's two (matrices, then vectors)")
    if set(state) != set(range(len(order))):
        raise Refused(f"the optimizer has state for {len(state)} parameters, the model has {len(order)}")
    result, steps = {}, set()
    for index, name in enumerate(order):
        entry = state[index] if type(state[index]) is dict else {}
        for moment in ("exp_avg", "exp_avg_sq"):
            result[f"{name}.{moment}"] = checked_tensor(f"{name}.{moment}", entry.get(moment), expected[name])
        steps.add(float(entry.get("step", -1)))
    if len(steps) != 1 or not min(steps) >= 0 or not min(steps).is_integer():
        raise Refused("the optimizer's parameters are not all at one step")
    result["step"] = torch.tensor([int(steps.pop())], dtype=torch.int64)
    return result


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        kind = {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.numpy().tobytes())


def plain(config):
    kinds = (bool, int, str)
    keep = lambda v: type(v) in kinds or type(v) is float and math.isfinite(v)
    return {k: v for k, v in config.items() if type(k) is str and keep(v)} if type(config) is dict else {}


def settings(checkpoint):
    """train.py's, as kept; what the optimizer says of itself counts more, as train.py goes on with that."""
    config = plain(checkpoint.get("config"))
    group = checkpoint["optimizer"]["param_groups"][0]
    first = {"weight_decay": group.get("weight_decay"), "adam_eps": group.get("eps")}
    betas = group.get("betas")
    if type(betas) in (tuple, list) and len(betas) == 2:
        first |= {"beta1": betas[0], "beta2": betas[1]}
    return config | plain(first)


@contextlib.contextmanager
def whole_folder(out):
    """A folder to write into, which becomes `out`: whole or not at all."""
    unfinished = out.rstrip("/") + ".unfinished"
    os.makedirs(unfinished)
    try:
        yield unfinished
        os.rename(unfinished, out)
    except BaseException:
        shutil.rmtree(unfinished)
        raise


def main(convert, arguments, doc):
    """convert() with so many arguments of the command line, of which the last names the folder that it makes."""
    if len(sys.argv) != 1 + arguments:
        sys.exit(doc)
    try:
        if os.path.exists(sys.argv[-1]):
            raise Refused(f"{sys.argv[-1]} exists already: name a folder that does not")
        convert(*sys.argv[1:])
    except (Refused, OSError) as error:
        print(f"{os.path.basename(sys.argv[0]).removesuffix('.py')}: {error}", file=sys.stderr)
        sys.exit(65 if isinstance(error, Refused) else 66)


def convert(checkpoint_path, meta_path, out):
    symbols = read_symbols(meta_path)
    warnings.simplefilter("ignore")  # of torch about old or odd pickles: what is not plain is refused below
    try:
        checkpoint = torch.load(checkpoint_path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise Refused(f"{checkpoint_path} is no checkpoint of plain tensors: {type(error).__name__}") from None
    if type(checkpoint) is not dict:
        raise Refused(f"{checkpoint_path} holds no dictionary")
    args = checked_args(checkpoint.get("model_args"))
    if not len(symbols) == args["vocab_size"]:
        raise Refused(f"meta.pkl has {len(symbols)} characters, the model {args['vocab_size']}")
    expected = shapes(args)
    weights = read_weights(checkpoint.get("model"), expected)
    moments = read_moments(checkpoint.get("optimizer"), expected)
    step = checkpoint.get("iter_num", 0 if not moments else None)
    if type(step) is not int or step < 0:
        raise Refused("iter_num is not a whole number from 0")
    best = checkpoint.get("best_val_loss")
    best = float(best) if isinstance(best, (int, float, torch.Tensor)) else math.inf
    about = {"format": "nanogpt", "version": 1, "model_args": args, "config": settings(checkpoint) if moments else plain(checkpoint.get("config")),
             "iter_num": step, "best_val_loss": best if math.isfinite(best) else None, "symbols": symbols}
    with whole_folder(out) as folder:
        write_safetensors(os.path.join(folder, "model.safetensors"), weights)
        if moments:
            write_safetensors(os.path.join(folder, "optimizer.safetensors"), moments)
        with open(os.path.join(folder, "nanogpt.json"), "w", encoding="utf-8") as file:
            json.dump(about, file, ensure_ascii=False, indent=1, allow_nan=False)


if __name__ == "__main__":
    main(convert, 3, __doc__)
