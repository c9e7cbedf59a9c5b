"""A model as the one file that llama.cpp reads, of its architectures gpt2, llama and qwen3.

    python -m chargpt.gguf RUN FILE     RUN: a run, whose best checkpoint is written, or the file of a checkpoint

Source: github.com/ggml-org/ggml, docs/gguf.md, version 3; llama.cpp, src/models/{gpt2,llama,qwen3}.cpp. Its llama turns pairs of neighbours
where ours and its qwen3 turn halves of a head. The vocabulary is of its kind "rwkv": other kinds make tokens 1 and 2 the ends of a text, or
know bytes only.
"""

from __future__ import annotations

import argparse
import struct
import sys
from typing import Any, Iterator, Optional, Tuple

from . import _checkpoint
from ._checkpoint import COMMON, DATA, Checkpoint, Tensor
from ._error import Error

_ALIGNMENT = 32
_KINDS = {"I": 4, "f": 6, "?": 7, "text": 8}  # the format's numbers for types of metadata
# The token between documents. llama.cpp drops an escape that the end cuts off, so it has no bytes: no text spells it, and it is not printed. A token of
# the type "control" would be recognized by its name where special tokens are parsed, as llama-server does, and any name can be written in a text.
DOCUMENT = "\\x"
# The values that each architecture of llama.cpp computes, and its places of biases. RMS norm has no bias.
_HELD = {
    "gpt2": {**COMMON, "norm": ["layernorm"], "position": ["learned"], "activation": ["gelu", "gelu_tanh"], "qk_norm": [False]},
    "llama": {**COMMON, "norm": ["rmsnorm"], "activation": ["swiglu"]},
    "qwen3": {**COMMON, "norm": ["rmsnorm"], "activation": ["swiglu"]}}
_BIASES = {"gpt2": ["attention", "attention_output", "mlp", "norm"], "llama": ["attention", "attention_output", "mlp", "norm"],
           "qwen3": ["attention", "norm"]}


# The tensor of ours, those of theirs that are its parts, its shape, and the number that does the same where ours has none.
Row = Tuple[str, "list[str]", "tuple[int, ...]", Optional[float]]


def architecture_of(options: dict[str, Any]) -> str:
    name = "gpt2" if options["position"] != "rope" else "qwen3" if options["qk_norm"] else "llama"
    held = _HELD[name]
    if name == "gpt2":
        held = {**held, "head_size": [options["n_embd"] // options["n_head"]]}
    left = [place for place in options["bias_places"] if place in _BIASES[name]]
    _checkpoint.refuse_others(options, {**held, "bias_places": [left]}, f"{name} of llama.cpp")
    return name


def layout(options: dict[str, Any], symbols: int, architecture: str) -> Iterator[Row]:
    """All tensors, in the order of the file. gpt2 has every bias; the others have those of the model."""
    gpt2 = architecture == "gpt2"
    width, hidden, joined = options["n_embd"], options["mlp_size"], options["n_head"] * options["head_size"]
    biased, parts = (_BIASES["gpt2"], ["attn_qkv"]) if gpt2 else (options["bias_places"], ["attn_q", "attn_k", "attn_v"])

    def norm(ours: str, theirs: str) -> Iterator[Row]:
        yield f"{ours}.weight", [f"{theirs}.weight"], (width,), 1
        if gpt2:
            yield f"{ours}.bias", [f"{theirs}.bias"], (width,), 0

    def linear(ours: str, theirs: list[str], rows: int, columns: int, place: str) -> Iterator[Row]:
        yield f"{ours}.weight", [f"{name}.weight" for name in theirs], (rows, columns), None
        if place in biased:
            yield f"{ours}.bias", [f"{name}.bias" for name in theirs], (rows,), 0

    yield "transformer.wte.weight", ["token_embd.weight"], (symbols, width), None
    if gpt2:
        yield "transformer.wpe.weight", ["position_embd.weight"], (options["block_size"], width), None
    for layer in range(options["n_layer"]):
        ours, theirs = f"transformer.h.{layer}.", f"blk.{layer}."
        yield from norm(ours + "ln_1", theirs + "attn_norm")
        yield from linear(ours + "attn.c_attn", [theirs + name for name in parts], 3 * joined, width, "attention")
        yield from linear(ours + "attn.c_proj", [theirs + "attn_output"], width, joined, "attention_output")
        yield from norm(ours + "ln_2", theirs + "ffn_norm")
        yield from linear(ours + "mlp.c_fc", [theirs + "ffn_up"], hidden, width, "mlp")
        if options["activation"] == "swiglu":
            yield from linear(ours + "mlp.c_gate", [theirs + "ffn_gate"], hidden, width, "mlp")
        yield from linear(ours + "mlp.c_proj", [theirs + "ffn_down"], width, hidden, "mlp")
    yield from norm("transformer.ln_f", "output_norm")
    if not options["tie_weights"]:
        yield "lm_head.weight", ["output.weight"], (symbols, width), None
    for layer in range(options["n_layer"]) if architecture == "qwen3" else ():
        for name in ("attn_q_norm", "attn_k_norm"):
            yield "", [f"blk.{layer}.{name}.weight"], (options["head_size"],), 1


def _as_neighbours(data: memoryview, rows: int, head: int) -> bytes:
    """The rows of each head in the order first of the lower half, first of the upper half, second of …"""
    size = len(data) // rows
    order = (row - row % head + row % head % 2 * (head // 2) + row % head // 2 for row in range(rows))
    return b"".join(data[row * size: (row + 1) * size] for row in order)


def tensors_of(checkpoint: Checkpoint, options: dict[str, Any], symbols: int, architecture: str) -> Iterator[tuple[str, Tensor]]:
    weights = {name: tensor for name, tensor in checkpoint.tensors.items() if not name.startswith(("averaged.", "optimizer.", "clock."))}
    if checkpoint.loss("averaged_") < checkpoint.loss():
        weights.update({name: checkpoint.tensors.get(f"averaged.{name}", tensor) for name, tensor in weights.items()})
    for ours, theirs, whole, missing in layout(options, symbols, architecture):
        tensor = weights.pop(ours, None)
        if tensor is None and missing is not None:
            tensor = Tensor("F32", whole, struct.pack("<f", missing) * whole[0])
        if tensor is None or tensor.dtype != "F32" or tensor.shape != whole:
            raise Error(f"{checkpoint.path}: {ours} is missing, or not of the shape {list(whole)} that the config asks for", DATA)
        rows, size = whole[0] // len(theirs), len(tensor.data) // len(theirs)
        for part, name in enumerate(theirs):
            data: bytes | memoryview = memoryview(tensor.data)[part * size: (part + 1) * size]
            if architecture == "llama" and part < 2 and len(theirs) == 3:
                data = _as_neighbours(memoryview(data), rows, options["head_size"])
            yield name, Tensor("F32", (rows, *whole[1:]), data)
    if weights:
        raise Error(f"{checkpoint.path}: the config does not ask for its tensor {min(weights)!r}", DATA)


def _value(form: str, value: Any) -> bytes:
    if form != "text":
        return struct.pack("<" + form, value)
    data: bytes = value.encode()
    return struct.pack("<Q", len(data)) + data


def _pair(key: str, form: str, value: Any) -> bytes:
    if type(value) is list:
        return _value("text", key) + struct.pack("<IIQ", 9, _KINDS[form], len(value)) + b"".join(_value(form, one) for one in value)
    return _value("text", key) + struct.pack("<I", _KINDS[form]) + _value(form, value)


def _spelled(symbol: str) -> str:
    """A backslash begins an escape; other symbols of ASCII's printable part and beyond ASCII are themselves."""
    return "\\\\" if symbol == "\\" else symbol if symbol >= "\x80" or " " <= symbol <= "~" else f"\\x{ord(symbol):02x}"


def metadata(checkpoint: Checkpoint, options: dict[str, Any], tokens: list[str], architecture: str) -> list[bytes]:
    norm = "layer_norm" if architecture == "gpt2" else "layer_norm_rms"
    own = [("context_length", "I", "block_size"), ("embedding_length", "I", "n_embd"), ("block_count", "I", "n_layer"), ("feed_forward_length", "I", "mlp_size"),
           ("attention.head_count", "I", "n_head"), ("attention.head_count_kv", "I", "n_head"), (f"attention.{norm}_epsilon", "f", "norm_eps")]
    if architecture != "gpt2":
        own += [(key, "I", "head_size") for key in ("attention.key_length", "attention.value_length", "rope.dimension_count")]
        own += [("rope.freq_base", "f", "rope_base")]
    documents, last = "document" in checkpoint.vocabulary, len(tokens) - 1
    pairs = [("general.architecture", "text", architecture), ("general.name", "text", str(checkpoint.config.get("name", ""))),
             ("general.file_type", "I", 0), *((f"{architecture}.{key}", form, options[option]) for key, form, option in own),
             ("tokenizer.ggml.model", "text", "rwkv"), ("tokenizer.ggml.tokens", "text", tokens), ("tokenizer.ggml.add_bos_token", "?", documents),
             ("tokenizer.ggml.add_eos_token", "?", False)]
    if documents:
        pairs += [("tokenizer.ggml.bos_token_id", "I", last), ("tokenizer.ggml.eos_token_id", "I", last)]
    return [_pair(*pair) for pair in pairs]


def convert(run: str, out: str) -> None:
    checkpoint = _checkpoint.find(run, best=True)
    options = checkpoint.model()
    architecture = architecture_of(options)
    of_bytes = checkpoint.vocabulary["kind"] == "bytes"
    tokens = [f"\\x{byte:02x}" if byte >= 0x80 else _spelled(chr(byte)) for byte in range(256)] if of_bytes else [
        _spelled(symbol) for symbol in checkpoint.vocabulary["symbols"]]
    if "document" in checkpoint.vocabulary:
        tokens.append(DOCUMENT)
        print(f"token {len(tokens) - 1} begins and ends each document; llama.cpp's tokenizer leaves it to the program to put it before a prompt", file=sys.stderr)
    if architecture == "gpt2":
        print("llama.cpp reads gelu from a table of float16, which changes log-probabilities by some 0.003", file=sys.stderr)
    tensors = list(tensors_of(checkpoint, options, len(tokens), architecture))
    pairs = metadata(checkpoint, options, tokens, architecture)
    header, place = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs), 0
    for name, tensor in tensors:  # dimensions are named from the fastest to the slowest, and type 0 is F32
        header += _value("text", name) + struct.pack(f"<I{len(tensor.shape)}QIQ", len(tensor.shape), *tensor.shape[::-1], 0, place)
        place += -(-len(tensor.data) // _ALIGNMENT) * _ALIGNMENT
    with _checkpoint.new_path(out) as path, open(path, "xb") as file:
        for data in (header, *(tensor.data for _, tensor in tensors)):
            file.write(data)
            file.write(bytes(-len(data) % _ALIGNMENT))
    print(f"{out}: {architecture}, step {checkpoint.state['step']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m chargpt.gguf", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("file", metavar="FILE")
    arguments = parser.parse_args()
    _checkpoint.main("chargpt.gguf", lambda: convert(arguments.run, arguments.file))
