"""Checkpoints, RUN/checkpoints/step-NNNNNNNN.safetensors, read and written with the standard library alone.

A file is untrusted input: its sizes and sums are compared before anything is used. See the README of src/run.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import sys
import zlib
from typing import Any, Callable, Iterator, NamedTuple, Union

from ._error import Error

USAGE, DATA, MISSING, NO_TORCH, IO, BUSY, DIVERGED = 2, 65, 66, 69, 74, 75, 80
_BYTES = {"F32": 4, "I64": 8}
_LARGEST_HEADER = 64 << 20
_NO_SUM = b"00000000"
_SUM = re.compile(rb'("crc_(?:read|all)":")[0-9a-f]{8}"')  # a quote within a string of the header is escaped
_EVERYWHERE = ["attention", "attention_output", "mlp", "norm"]
# Defaults of the options that say what a model computes: src/config/config.h.
_MODEL: dict[str, Any] = {
    "type": "gpt", "n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "head_size": 0, "mlp_size": 0, "dropout": 0.0,
    "dropout_places": ["embedding", "attention", "attention_output", "mlp"], "bias": False, "bias_places": _EVERYWHERE, "norm": "layernorm",
    "norm_place": "pre", "norm_eps": 1e-5, "final_norm": True, "position": "learned", "rope_base": 10000.0, "activation": "gelu",
    "feed_forward": True, "attention_scale": "head", "qk_norm": False, "output_projection": True, "tie_weights": True, "conv_places": [],
    "decay": "matrices"}
# What every program that computes GPT-2's layout or Llama's has.
COMMON: dict[str, list[Any]] = {"type": ["gpt"], "norm_place": ["pre"], "final_norm": [True], "feed_forward": [True], "attention_scale": ["head"],
                                "output_projection": [True], "conv_places": [[]]}


class Tensor(NamedTuple):
    dtype: str  # "F32" or "I64"
    shape: tuple[int, ...]
    data: Union[bytes, memoryview]  # row-major, little-endian


class Checkpoint(NamedTuple):
    path: pathlib.Path
    tensors: dict[str, Tensor]  # weights, averaged.NAME, clock.shares, optimizer.NAME
    config: dict[str, Any]
    vocabulary: dict[str, Any]
    state: dict[str, Any]

    def options(self, section: str, defaults: dict[str, Any]) -> dict[str, Any]:
        """Those of a section, each of its default's type."""
        options = {**defaults, **self.config[section]}
        for name, default in defaults.items():
            if type(options[name]) is not type(default) and not (type(default) is float and type(options[name]) is int):
                raise Error(f"{self.path} is damaged: {section}.{name} is {json.dumps(options[name]):.40}", DATA)
        return options

    def model(self) -> dict[str, Any]:
        """The options of the model, with sizes that follow from others."""
        options = self.options("model", _MODEL)
        sizes = [options[name] for name in ("n_layer", "n_head", "n_embd", "block_size")]
        if not all(0 < size <= 1 << 20 for size in sizes) or options["n_layer"] > len(self.tensors):
            raise Error(f"{self.path} is damaged: its sizes are {sizes}", DATA)
        options["head_size"] = options["head_size"] or options["n_embd"] // options["n_head"]
        options["mlp_size"] = options["mlp_size"] or 4 * options["n_embd"]
        options["bias_places"] = options["bias_places"] if options["bias"] else []
        return options

    def loss(self, weights: str = "") -> float:
        """The validation loss of the trained or the averaged weights; infinity where nobody evaluated them."""
        return float(self.state[f"{weights}val_loss"])


def refuse_others(options: dict[str, Any], held: dict[str, list[Any]], what: str) -> None:
    """Error usage for the first option that has none of the values that `what` can hold."""
    for name, values in held.items():
        if options[name] not in values:
            raise Error(f"model.{name} = {json.dumps(options[name])} cannot be stored as {what} (it would become {json.dumps(values[0])})", USAGE)


def are_characters(symbols: Any) -> bool:
    """A list of different characters, none of which is a surrogate."""
    return (type(symbols) is list and all(type(one) is str and len(one) == 1 and not "\ud800" <= one <= "\udfff" for one in symbols)
            and len(set(symbols)) == len(symbols) > 0)


def _refuse_infinite(source: object, name: str, tensor: Tensor) -> None:
    if tensor.dtype == "F32" and not math.isfinite(sum(memoryview(tensor.data).cast("B").cast("f"))):
        raise Error(f"{source}: tensor {name} contains NaN or infinity, so the model cannot be used", DIVERGED)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _parsed(text: Any) -> Any:
    parsed = json.loads(text, object_pairs_hook=_distinct)
    if type(parsed) is not dict:
        raise ValueError("not an object")
    return parsed


def _read_tensors(header: dict[str, Any], body: memoryview) -> dict[str, Tensor]:
    """Fill the body without gap or overlap."""
    tensors, place = {}, 0
    for name, entry in sorted(header.items(), key=lambda one: one[1]["data_offsets"]):
        shape = tuple(entry["shape"])
        end = place + _BYTES[entry["dtype"]] * math.prod(shape)
        if any(type(size) is not int or size < 0 for size in shape) or entry["data_offsets"] != [place, end] or end > len(body):
            raise ValueError(name)
        tensors[name] = Tensor(entry["dtype"], shape, body[place:end])
        place = end
    if place != len(body):
        raise ValueError("bytes after the last tensor")
    return tensors


def _sums(head: bytes, tensors: dict[str, Tensor]) -> dict[str, str]:
    """crc_read covers what precedes the optimizer, crc_all the file; both with their own values as zeros."""
    crc = crc_read = zlib.crc32(_SUM.sub(rb'\g<1>' + _NO_SUM + b'"', head))
    for name, tensor in tensors.items():
        crc = zlib.crc32(tensor.data, crc)
        crc_read = crc_read if name.startswith("optimizer.") else crc
    return {"crc_read": f"{crc_read:08x}", "crc_all": f"{crc:08x}"}


def read(path: pathlib.Path) -> Checkpoint:
    """All of a file. Error data where it is damaged, or newer than this module."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    if not 8 < begin <= min(len(data), _LARGEST_HEADER):
        raise Error(f"{path} is not a checkpoint of chargpt: it does not begin with a header of safetensors", DATA)
    try:
        header = _parsed(data[8:begin])
        about = header.pop("__metadata__")
        if about["chargpt"] != "1":
            raise Error(f"{path} was made by a newer chargpt", DATA)
        tensors = _read_tensors(header, memoryview(data)[begin:])
        if _sums(data[:begin], tensors) != {name: about[name] for name in ("crc_read", "crc_all")}:
            raise ValueError("its sums differ")
        config, vocabulary, state = (_parsed(about[name]) for name in ("config", "vocabulary", "state"))
        if not all(type(config.setdefault(section, {})) is dict for section in ("data", "model", "train", "eval")):
            raise ValueError("config")
        checkpoint = Checkpoint(path, tensors, config, vocabulary, state)
        if vocabulary["kind"] != "bytes" and not are_characters(vocabulary["symbols"]):
            raise ValueError("vocabulary")
        if any(type(state[name]) is not int or state[name] < 0 for name in ("step", "max_iters")):
            raise ValueError("state")
        checkpoint.loss(), checkpoint.loss("averaged_"), checkpoint.loss("best_")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Error(f"{path} is damaged, or not a checkpoint of chargpt ({type(error).__name__})", DATA) from None
    for name, tensor in tensors.items():
        if not name.startswith("optimizer."):
            _refuse_infinite(path, name, tensor)
    return checkpoint


def write(path: pathlib.Path, tensors: dict[str, Tensor], **about: Any) -> None:
    """`about`: metadata, as JSON; `tensors` in the order of the file."""
    metadata = {"format": "pt", "chargpt": "1", **{name: json.dumps(value, ensure_ascii=False) for name, value in about.items()},
                "crc_read": _NO_SUM.decode(), "crc_all": _NO_SUM.decode()}
    header: dict[str, Any] = {"__metadata__": metadata}
    place = 0
    for name, tensor in tensors.items():
        _refuse_infinite(path.name, name, tensor)
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [place, place + len(tensor.data)]}
        place += len(tensor.data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    for name, value in _sums(head, tensors).items():
        head = head.replace(f'"{name}":"'.encode() + _NO_SUM, f'"{name}":"{value}'.encode(), 1)
    path.write_bytes(b"".join([head, *(tensor.data for tensor in tensors.values())]))


def find(run: str, best: bool) -> Checkpoint:
    """The best or the last checkpoint of a run; or the file of one."""
    path = pathlib.Path(run)
    if path.is_file():
        return read(path)
    files = sorted((path / "checkpoints").glob("step-*.safetensors"), key=lambda file: (len(file.name), file.name))
    if not files:
        raise Error(f"{run} has no checkpoint (checkpoints/step-*.safetensors)", MISSING)
    return min(map(read, files[::-1] if best else files[-1:]), key=lambda one: min(one.loss(), one.loss("averaged_")))


@contextlib.contextmanager
def new_path(out: str) -> Iterator[pathlib.Path]:
    """A path to write a file or folder to, which gets the name `out` when it is whole."""
    path, partial = (pathlib.Path(out.rstrip("/") + end) for end in ("", ".partial"))
    for one in (path, partial):
        if os.path.lexists(one):
            raise Error(f"{one} already exists; choose another path or remove it", BUSY)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
        partial.rename(path)
    except BaseException:
        shutil.rmtree(partial) if partial.is_dir() else partial.unlink(missing_ok=True)
        raise


def main(program: str, convert: Callable[[], None]) -> None:
    """A failure is one line on stderr, and the exit code."""
    try:
        convert()
    except (Error, OSError, ModuleNotFoundError) as error:
        line = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        print(f"{program}: error: {line}", file=sys.stderr)
        sys.exit(getattr(error, "code", None) or {FileNotFoundError: MISSING, ModuleNotFoundError: NO_TORCH}.get(type(error), IO))
