"""Checkpoints of nanoGPT (github.com/karpathy/nanoGPT) as runs of chargpt, and back, with the moments of AdamW. Needs torch.

    python -m chargpt.nanogpt to-run ckpt.pt meta.pkl RUN [--text FILE]     FILE: the text that it was trained on, which `resume` needs
    python -m chargpt.nanogpt from-run RUN OUT     RUN: a run, whose last checkpoint is converted, or the file of a checkpoint

OUT gets ckpt.pt, meta.pkl and a config file for train.py. Pickles are untrusted input: neither may run code when it is loaded.
"""

from __future__ import annotations

import argparse
import ctypes
import io
import json
import lzma
import math
import os
import pathlib
import pickle
import re
import shlex
import sys
import warnings
from typing import Any

from . import _checkpoint
from ._checkpoint import COMMON, DATA, USAGE, Checkpoint, Tensor
from ._error import Error

_LARGEST_META = 64 << 20
# The options of train.py that a run has too, their ranges and the run's defaults; a range of whole numbers allows nothing else.
_ARGS = {"n_layer": (1, 1000), "n_head": (1, 1024), "n_embd": (1, 65536), "block_size": (1, 1 << 20), "vocab_size": (1, 0x110000), "dropout": (0.0, 0.99)}
_TRAIN = {"batch_size": (1, 1 << 20, 12), "gradient_accumulation_steps": (1, 65536, 1), "max_iters": (0, 10**12, 2000), "learning_rate": (0.0, 1e3, 1e-3),
          "min_lr": (0.0, 1e3, 1e-4), "weight_decay": (0.0, 1e3, 0.1), "beta1": (0.0, 0.999999, 0.9), "beta2": (0.0, 0.9999999, 0.99),
          "adam_eps": (0.0, 1.0, 1e-8), "grad_clip": (0.0, math.inf, 1.0), "warmup_iters": (0, 10**12, 100), "lr_decay_iters": (0, 10**12, 0)}
_EVAL = {"eval_interval": (1, 10**12, 250), "log_interval": (1, 10**12, 10)}
_HELD = {**COMMON, "norm": ["layernorm"], "norm_eps": [1e-5], "position": ["learned"], "activation": ["gelu"], "tie_weights": [True], "qk_norm": [False]}
_OURS_ALONE: dict[str, Any] = {"lr_schedule": "cosine", "max_seconds": 0.0, "groups": [], "teacher": [], "windows": "random"}


def shapes(args: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes in the order of named_parameters(), which the optimizer's indices follow."""
    C = args["n_embd"]
    layers: dict[str, tuple[int, ...]] = {}
    for layer in range(args["n_layer"]):
        block = {"ln_1": (C,), "attn.c_attn": (3 * C, C), "attn.c_proj": (C, C), "ln_2": (C,), "mlp.c_fc": (4 * C, C), "mlp.c_proj": (C, 4 * C)}
        layers.update({f"transformer.h.{layer}.{name}": shape for name, shape in block.items()})
    found: dict[str, tuple[int, ...]] = {"transformer.wte.weight": (args["vocab_size"], C), "transformer.wpe.weight": (args["block_size"], C)}
    for name, shape in {**layers, "transformer.ln_f": (C,)}.items():
        found[f"{name}.weight"] = shape
        if args["bias"]:
            found[f"{name}.bias"] = shape[:1]
    return found


def matrices_then_vectors(expected: dict[str, tuple[int, ...]]) -> list[list[str]]:
    """The two groups through which nanoGPT numbers its parameters."""
    return [[name for name, shape in expected.items() if (len(shape) > 1) is matrices] for matrices in (True, False)]


# ---- nanoGPT's files

class _PlainUnpickler(pickle.Unpickler):
    """Dictionaries, lists, strings and numbers need no global, so every global is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise Error(f"meta.pkl asks for {module}.{name}: it may contain only dict, list, str and int", DATA)


def _read_symbols(path: str) -> list[str]:
    with open(path, "rb") as file:
        data = file.read(_LARGEST_META + 1)
    if len(data) > _LARGEST_META:
        raise Error(f"{path} is larger than {_LARGEST_META} bytes; a vocabulary of characters is not", DATA)
    try:
        meta = _PlainUnpickler(io.BytesIO(data)).load()
    except Error:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise Error(f"{path} is not a pickle that can be read: {type(error).__name__}", DATA) from None
    itos = meta.get("itos") if type(meta) is dict else None
    if type(itos) is not dict or any(type(id) is not int for id in itos) or sorted(itos) != list(range(len(itos))):
        raise Error(f"{path} has no table 'itos' of the characters with the ids 0, 1, 2, …", DATA)
    symbols = [itos[id] for id in range(len(itos))]
    if not _checkpoint.are_characters(symbols):
        raise Error(f"{path}: the entries of 'itos' are not different single characters", DATA)
    return symbols


def _in_range(path: str, section: str, given: Any, ranges: dict[str, Any], needed: bool) -> dict[str, Any]:
    """Those of the options that are given."""
    if type(given) is not dict:
        raise Error(f"{path} has no dictionary {section}", DATA)
    for name, (least, most, *_) in ranges.items():
        value = given.get(name)
        kinds = (int,) if type(least) is int else (int, float)
        if (needed or value is not None) and (type(value) not in kinds or not least <= value <= most):
            raise Error(f"{path}: {section}.{name} is {value!r:.40}, not a number from {least} to {most}", DATA)
    return {name: given[name] for name in ranges if given.get(name) is not None}


def _checked(path: str, name: str, tensor: Any, shape: tuple[int, ...]) -> Any:
    import torch
    if not isinstance(tensor, torch.Tensor) or tuple(tensor.shape) != shape or tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise Error(f"{path}: {name} is missing, or not of the shape {list(shape)}", DATA)
    if not tensor.is_floating_point() or tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size():
        raise Error(f"{path}: {name} does not contain one floating point number for each element", DATA)
    return tensor.detach().float().contiguous()


def _read_weights(path: str, state: Any, expected: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    import torch
    if not hasattr(state, "items"):
        raise Error(f"{path} has no state dict 'model'", DATA)
    named: dict[str, Any] = {}
    for key, tensor in state.items():
        name = str(key).removeprefix("_orig_mod.")
        if name in named:
            raise Error(f"{path}: {name!r} occurs twice", DATA)
        named[name] = tensor
    head = named.pop("lm_head.weight", None)
    unknown = sorted(name for name in set(named) - set(expected) if not name.endswith((".attn.bias", ".attn.masked_bias")))
    if unknown:
        raise Error(f"{path} contains {unknown[0]!r}, which nanoGPT's model of these model_args has not", DATA)
    weights = {name: _checked(path, name, named.get(name), shape) for name, shape in expected.items()}
    table = weights["transformer.wte.weight"]
    if head is not None and not torch.equal(_checked(path, "lm_head.weight", head, tuple(table.shape)), table):
        raise Error(f"{path}: lm_head.weight differs from transformer.wte.weight, and nanoGPT ties them", DATA)
    return weights


def _read_optimizer(path: str, optimizer: Any, expected: dict[str, tuple[int, ...]]) -> tuple[int, dict[str, Any]]:
    """The step and the moments under the names of our checkpoints; (0, {}) for a file without an optimizer, as people share models."""
    if optimizer is None or (type(optimizer) is dict and optimizer.get("state") == {}):
        return 0, {}
    matrices, vectors = matrices_then_vectors(expected)
    order = matrices + vectors
    wanted = [list(range(len(matrices))), list(range(len(matrices), len(order)))]
    state, groups = (optimizer.get(key) for key in ("state", "param_groups")) if type(optimizer) is dict else (None, None)
    if (type(state) is not dict or type(groups) is not list or [type(group) is dict and group.get("params") for group in groups] != wanted
            or set(state) != set(range(len(order)))):
        raise Error(f"{path}: the optimizer's groups are not nanoGPT's two (matrices, then vectors)", DATA)
    moments, steps = {}, set()
    for key, ours in (("exp_avg", "moment1"), ("exp_avg_sq", "moment2")):
        for index, name in enumerate(order):
            entry = state[index] if type(state[index]) is dict else {}
            moments[f"optimizer.{ours}.{name}"] = _checked(path, f"{name}.{key}", entry.get(key), expected[name])
            try:
                steps.add(float(entry["step"]))
            except Exception:  # of a tensor that is not one number
                steps.add(-1.0)
            if key == "exp_avg_sq" and moments[f"optimizer.{ours}.{name}"].min() < 0:
                raise Error(f"{path}: {name}.{key} has negative numbers", DATA)
    step = steps.pop()
    if steps or not 0 <= step < 1e12 or not step.is_integer():
        raise Error(f"{path}: the optimizer's parameters are not all at one step", DATA)
    return int(step), moments


def _read_checkpoint(path: str) -> dict[str, Any]:
    """Of dictionaries, numbers and tensors alone."""
    import torch
    warnings.simplefilter("ignore")  # torch warns about old pickles, and everything but plain data is refused here
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise Error(f"{path} is not a checkpoint of plain tensors: {type(error).__name__}", DATA) from None
    if type(checkpoint) is not dict:
        raise Error(f"{path} is not a dictionary", DATA)
    return checkpoint


# ---- to a run

def _settings(path: str, checkpoint: dict[str, Any], moments: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sections train and eval. The optimizer's own options count more than the config's, as train.py goes on with them."""
    config = checkpoint.get("config")
    given = dict(config) if type(config) is dict else {}
    if moments:
        group = checkpoint["optimizer"]["param_groups"][0]
        betas = group.get("betas") if type(group.get("betas")) in (tuple, list) else ()
        own = {"weight_decay": group.get("weight_decay"), "adam_eps": group.get("eps"), **dict(zip(("beta1", "beta2"), betas))}
        given.update({name: value for name, value in own.items() if value is not None})
    train = _in_range(path, "config", given, _TRAIN, False)
    if given.get("decay_lr") is False:  # train.py warms up only where it decays
        train.update(lr_schedule="constant", warmup_iters=0)
        train.pop("min_lr", None), train.pop("lr_decay_iters", None)
    if "learning_rate" in train and train.get("min_lr", 0) > train["learning_rate"]:
        print(f"min_lr = {train['min_lr']} is above learning_rate = {train['learning_rate']}, so train.py lets the rate rise; "
              "a resumed run keeps learning_rate", file=sys.stderr)
        train["min_lr"] = train["learning_rate"]
    return train, _in_range(path, "config", given, _EVAL, False)


def _crc64(data: bytes | memoryview) -> str:
    xz = lzma.compress(data, check=lzma.CHECK_CRC64, preset=0)  # its sum stands before the index, the index before the last 12 bytes
    end = len(xz) - 12 - 4 * (int.from_bytes(xz[-8:-4], "little") + 1)
    return xz[end - 8: end][::-1].hex()


def _ids_of(path: str, symbols: list[str]) -> Tensor:
    """In the narrowest type that holds them."""
    try:
        text = pathlib.Path(path).read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Error(f"{path} is not UTF-8: invalid byte at offset {error.start}", DATA) from None
    unknown = sorted(set(text) - set(symbols))
    if unknown or not text:
        raise Error(f"{path} contains {', '.join(map(ascii, unknown[:5])) or 'nothing'}, which meta.pkl has not: name the text that the model was trained on", DATA)
    dtype, form = ("U8", "latin-1") if len(symbols) <= 1 << 8 else ("U16", "utf-16-le") if len(symbols) <= 1 << 16 else ("U32", "utf-32-le")
    return Tensor(dtype, (len(text),), text.translate({ord(symbol): id for id, symbol in enumerate(symbols)}).encode(form, "surrogatepass"))


def fingerprint(ids: Tensor) -> dict[str, Any]:
    """How a run knows its text."""
    return {"tokens": ids.shape[0], "crc64": _crc64(ids.data)}


def _tensor(values: Any) -> Tensor:
    return Tensor("F32", tuple(values.shape), ctypes.string_at(values.data_ptr(), 4 * values.numel()))


def _read_args(path: str, given: Any, symbols: list[str]) -> dict[str, Any]:
    args = _in_range(path, "model_args", given, _ARGS, True)
    if type(given.get("bias")) is not bool or args["n_embd"] % args["n_head"]:
        raise Error(f"{path}: model_args.bias is neither True nor False, or n_embd is not a multiple of n_head", DATA)
    if len(symbols) != args["vocab_size"]:
        raise Error(f"{path}: model_args.vocab_size is {args['vocab_size']}, and meta.pkl has {len(symbols)} characters", DATA)
    return {**args, "bias": given["bias"]}


def _state(step: int, train: dict[str, Any], parameters: int, symbols: list[str], ids: Tensor | None) -> dict[str, Any]:
    return {"step": step, "max_iters": train.get("max_iters", step), "seconds": 0.0, "training_seconds": 0.0, "setup_seconds": 0.0,
            "closing_seconds": 0.0, "val_windows": 0, "exact": False, "val_loss": "inf", "averaged_val_loss": "inf", "best_val_loss": "inf", "best_step": -1,
            "evals_without_improvement": 0, "ended": "unknown", "data": fingerprint(ids) if ids else {"tokens": 0, "crc64": f"{0:016x}"},
            "parameters": parameters, "start_symbol": symbols.index("\n") if "\n" in symbols else 0, "program_version": "nanoGPT", "libtorch_version": "none",
            "cpu_capability": "none", "device": "cpu", "engine": "cpu", "threads": 1, "ranks": 1, "teachers": []}


def _in_order(tensors: dict[str, Tensor], order: list[int]) -> dict[str, Tensor]:
    """With the rows of symbols, and of their moments, in this order."""
    for name, tensor in tensors.items():
        if name.endswith("transformer.wte.weight"):
            size = len(tensor.data) // len(order)
            tensors[name] = tensor._replace(data=b"".join(tensor.data[id * size: (id + 1) * size] for id in order))
    return tensors


def _write_text(folder: pathlib.Path, path: str, ids: Tensor, vocabulary: dict[str, Any]) -> None:
    """As a run keeps it, split as is the default."""
    size, whole = ids.shape[0], pathlib.Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
    val = int(round(0.9 * 1e12) / 1e12 * size)
    _checkpoint.write(folder / "text.safetensors", {"ids": ids}, vocabulary=vocabulary,
                      texts=[{"name": path, "bytes": len(whole), "crc64": _crc64(whole)}],
                      splits={"train": [0, val], "val": [val, size], "test": [size, size]})


def _write_run(out: str, text: str | None, ids: Tensor | None, config: dict[str, Any], tensors: dict[str, Tensor], **about: dict[str, Any]) -> None:
    """The checkpoint's config has the name of the text alone."""
    texts = [text, os.path.basename(text)] if text else ["unknown:imported"] * 2
    here, within = ({**config, "data": {"text": [one]}} for one in texts)
    with _checkpoint.new_path(out) as folder:
        (folder / "checkpoints").mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"format": "chargpt run", "version": 1}) + "\n")
        (folder / "config.json").write_text(json.dumps(here, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if text and ids:
            _write_text(folder, text, ids, about["vocabulary"])
        _checkpoint.write(folder / f"checkpoints/step-{about['state']['step']:08}.safetensors", tensors, config=within, **about)


def to_run(checkpoint_path: str, meta_path: str, out: str, text: str | None) -> None:
    symbols = _read_symbols(meta_path)
    checkpoint = _read_checkpoint(checkpoint_path)
    args = _read_args(checkpoint_path, checkpoint.get("model_args"), symbols)
    expected = shapes(args)
    weights = _read_weights(checkpoint_path, checkpoint.get("model"), expected)
    updates, moments = _read_optimizer(checkpoint_path, checkpoint.get("optimizer"), expected)
    step = checkpoint.get("iter_num", None if moments else 0)
    if type(step) is not int or not 0 <= step <= 10**12:
        raise Error(f"{checkpoint_path}: iter_num is not a whole number from 0", DATA)
    tensors = {name: _tensor(weights[name]) for name in sorted(weights)}
    if moments and updates != step:
        raise Error(f"{checkpoint_path}: the optimizer made {updates} updates, and iter_num is {step}", DATA)
    if moments:
        tensors.update({name: _tensor(moments[name]) for name in sorted(moments)})
    order = sorted(range(len(symbols)), key=symbols.__getitem__)  # ours are in the order of code points
    symbols = sorted(symbols)
    train, evaluation = _settings(checkpoint_path, checkpoint, bool(moments))
    name = pathlib.Path(os.path.abspath(out)).name
    del args["vocab_size"]
    config = {"name": name if name.isprintable() and len(name) <= 100 else "imported",
              "model": {"type": "gpt", **args, "norm": "layernorm", "position": "learned", "activation": "gelu", "tie_weights": True},
              "train": train, "eval": evaluation}
    ids = _ids_of(text, symbols) if text else None
    _write_run(out, text, ids, config, _in_order(tensors, order), vocabulary={"kind": "characters", "symbols": symbols},
               state=_state(step, train, sum(tensor.numel() for tensor in weights.values()), symbols, ids))
    print(f"{out}: step {step}\n→ chargpt sample {shlex.quote(out)}")
    if moments:
        print(f"→ chargpt resume {shlex.quote(out)}" + ("" if text else " --text FILE"))
    else:
        print(f"{checkpoint_path} has no state of an optimizer, so this run cannot be resumed", file=sys.stderr)


# ---- from a run

def _defaults(ranges: dict[str, Any]) -> dict[str, Any]:
    return {name: default for name, (_, _, default) in ranges.items()}


def _obstacle_to_resuming(checkpoint: Checkpoint, train: dict[str, Any], decay: str) -> str:
    """Why train.py cannot go on with the moments; empty where it can."""
    if train["groups"]:
        return "train.groups gives parameters learning rates of their own"
    if decay != "matrices":
        return f'model.decay is "{decay}", and nanoGPT decays matrices only'
    return "" if any(name.startswith("optimizer.") for name in checkpoint.tensors) else "the run has none"


def _differences(checkpoint: Checkpoint, train: dict[str, Any]) -> list[str]:
    """What train.py does otherwise than the run."""
    constant = train["lr_schedule"] == "constant"
    found = {f"train.py decays along a cosine, and this run's train.lr_schedule is {train['lr_schedule']}": train["lr_schedule"] not in ("cosine", "constant"),
             f"train.py has no warm-up before a constant rate; this run's ends at step {train['warmup_iters']}":
                 constant and checkpoint.state["step"] < train["warmup_iters"],
             "train.py decays by steps, and this run by the clock (train.max_seconds)": train["max_seconds"] > 0 and not constant,
             "train.py draws its windows at random": train["windows"] != "random",
             "train.py has no teacher, and this run has (train.teacher)": bool(train["teacher"]),
             "the averaged weights, whose validation loss is lower, are left out": checkpoint.loss("averaged_") < checkpoint.loss()}
    return [line for line, is_so in found.items() if is_so]


def _recipe(checkpoint: Checkpoint, args: dict[str, Any], train: dict[str, Any], dataset: str) -> dict[str, Any]:
    """The options of train.py."""
    evaluation = checkpoint.options("eval", {"eval_iters": 0, **_defaults(_EVAL)})
    most = checkpoint.state["max_iters"] or checkpoint.state["step"]  # 0: only a clock ended it
    return {"eval_interval": evaluation["eval_interval"] or max(1, most // 10), "log_interval": evaluation["log_interval"],
            "eval_iters": evaluation["eval_iters"] or 200, "eval_only": False, "always_save_checkpoint": True, "init_from": "resume", "wandb_log": False,
            "dataset": dataset, **{name: value for name, value in args.items() if name != "vocab_size"}, **{name: train[name] for name in _TRAIN},
            "max_iters": most, "decay_lr": train["lr_schedule"] != "constant", "lr_decay_iters": train["lr_decay_iters"] or most, "device": "cpu",
            "dtype": "float32", "compile": False}


def _optimizer(tensors: dict[str, Any], expected: dict[str, tuple[int, ...]], recipe: dict[str, Any], step: int) -> Any:
    """The state dict of AdamW over nanoGPT's two groups, as PyTorch itself lays it out."""
    import torch
    groups = [{"params": [torch.nn.Parameter(torch.zeros(expected[name])) for name in names], "weight_decay": weight_decay}
              for names, weight_decay in zip(matrices_then_vectors(expected), (recipe["weight_decay"], 0.0))]
    state = torch.optim.AdamW(groups, lr=recipe["learning_rate"], betas=(recipe["beta1"], recipe["beta2"]), eps=recipe["adam_eps"]).state_dict()
    for index, name in enumerate(sum(matrices_then_vectors(expected), [])):
        state["state"][index] = {"step": torch.tensor(float(step)), "exp_avg": tensors[f"optimizer.moment1.{name}"],
                                 "exp_avg_sq": tensors[f"optimizer.moment2.{name}"]}
    return state


def from_run(run: str, out: str) -> None:
    import torch
    checkpoint = _checkpoint.find(run, best=False)
    options, train = checkpoint.model(), checkpoint.options("train", {**_OURS_ALONE, **_defaults(_TRAIN)})
    if checkpoint.vocabulary["kind"] == "bytes" or "document" in checkpoint.vocabulary:
        raise Error("nanoGPT cannot hold this model: the symbols of meta.pkl are characters, and this run's are bytes, or begin and end documents", USAGE)
    held: dict[str, list[Any]] = {"head_size": [options["n_embd"] // options["n_head"]], "mlp_size": [4 * options["n_embd"]]}
    if options["bias"]:
        held["bias_places"] = [["attention", "attention_output", "mlp", "norm"]]
    if options["dropout"]:
        held["dropout_places"] = [["embedding", "attention", "attention_output", "mlp"]]
    _checkpoint.refuse_others(options, {**_HELD, **held}, "nanoGPT")
    symbols = checkpoint.vocabulary["symbols"]
    args = {name: options[name] for name in ("n_layer", "n_head", "n_embd", "block_size", "bias", "dropout")}
    args["vocab_size"] = len(symbols)
    expected = shapes(args)
    without = _obstacle_to_resuming(checkpoint, train, options["decay"])
    wanted = dict(expected)
    if not without:
        wanted.update({f"optimizer.moment{n}.{name}": shape for n in (1, 2) for name, shape in expected.items()})
    trained = [name for name in checkpoint.tensors if not name.startswith(("averaged.", "optimizer.", "clock."))]
    if set(trained) != set(expected) or any(name not in checkpoint.tensors or checkpoint.tensors[name].shape != shape for name, shape in wanted.items()):
        raise Error(f"{checkpoint.path} does not contain exactly the tensors of nanoGPT's model, and of its optimizer", DATA)
    tensors = {name: torch.frombuffer(bytearray(tensor.data), dtype=torch.float32).reshape(tensor.shape)
               for name, tensor in checkpoint.tensors.items() if name in wanted}
    name = re.sub(r"\W", "_", pathlib.Path(os.path.abspath(out)).name)
    recipe = _recipe(checkpoint, args, train, name)
    best = checkpoint.loss("best_")
    saved: dict[str, Any] = {"model": {**{one: tensors[one] for one in expected}, "lm_head.weight": tensors["transformer.wte.weight"]}, "model_args": args,
                             "iter_num": checkpoint.state["step"], "best_val_loss": best if math.isfinite(best) else 1e9, "config": recipe}
    if not without:
        saved["optimizer"] = _optimizer(tensors, expected, recipe, checkpoint.state["step"])
    itos = dict(enumerate(symbols))
    with _checkpoint.new_path(out) as folder:
        folder.mkdir()
        torch.save(saved, folder / "ckpt.pt")
        (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(itos), "itos": itos, "stoi": {symbol: id for id, symbol in itos.items()}}))
        lines = {"out_dir": os.path.abspath(out), **recipe}
        (folder / f"train_{name}.py").write_text("".join(f"{key} = {value!r}\n" for key, value in lines.items()), encoding="utf-8")
    for line in _differences(checkpoint, train) + ([f"ckpt.pt has no state of an optimizer, so train.py cannot resume: {without}"] if without else []):
        print(line, file=sys.stderr)
    meta, config = (shlex.quote(os.path.join(os.path.abspath(out), file)) for file in ("meta.pkl", f"train_{name}.py"))
    most = "" if checkpoint.state["step"] < checkpoint.state["max_iters"] else f" --max_iters={2 * checkpoint.state['step']}"
    print(f"{out}: step {checkpoint.state['step']}. In nanoGPT, with train.bin and val.bin of the text in data/{name}:\n"
          f"cp {meta} data/{name}/ && python {'sample.py --out_dir=' + shlex.quote(os.path.abspath(out)) if without else f'train.py {config}{most}'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m chargpt.nanogpt", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for function, command, words in ((to_run, "to-run", ("ckpt.pt", "meta.pkl", "RUN")), (from_run, "from-run", ("RUN", "OUT"))):
        its = commands.add_parser(command)
        its.set_defaults(function=function)
        for number, word in enumerate(words):
            its.add_argument(f"word{number}", metavar=word)
    commands.choices["to-run"].add_argument("--text", metavar="FILE")
    given = vars(parser.parse_args())
    _checkpoint.main("chargpt.nanogpt", lambda: given.pop("function")(*given.values()))
