"""The form of a run's checkpoints on disk. Tests list, read, change and damage checkpoints through these functions alone."""

import hashlib
import json
import re
import struct
import zlib

NOT_WEIGHTS = ("averaged.", "clock.", "optimizer.")
CHECKSUMS = re.compile(rb'("crc_(?:read|all)" *: *")[0-9a-f]{8}"')


def safetensors(data):
    """A file of tensors: its header, and where their values begin."""
    begin = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:begin]), begin


def named_tensors(data):
    """name -> bytes of each tensor in a file of them."""
    header, begin = safetensors(data)
    return {name: data[begin:][slice(*header[name]["data_offsets"])] for name in header if name != "__metadata__"}


def replaced(data, values, metadata):
    """A file of tensors with other values and metadata for some of them; a tensor that it lacks is added, as F32."""
    header, _ = safetensors(data)
    added = {name: {"dtype": "F32", "shape": [len(value) // 4]} for name, value in values.items() if name not in header}
    values, header, body = {**named_tensors(data), **values}, {"__metadata__": {}, **added, **header}, b""
    for name in [name for name in header if name != "__metadata__"]:
        header[name] = {**header[name], "data_offsets": [len(body), len(body) + len(values[name])]}
        body += values[name]
    header["__metadata__"] = {**header["__metadata__"], **metadata}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def name_of(step):
    return f"step-{step:08d}.safetensors"


def checkpoint(run, step):
    return run / "checkpoints" / name_of(step)


def checkpoints(run):
    """The steps of a run's complete checkpoints, in order."""
    return sorted(int(found[1]) for path in (run / "checkpoints").glob("*") if (found := re.fullmatch(r"step-(\d{8})\.safetensors", path.name)))


def weights(run, step):
    """name -> bytes of the trained weights."""
    return {name: value for name, value in named_tensors(checkpoint(run, step).read_bytes()).items() if not name.startswith(NOT_WEIGHTS)}


def tensors(run, step):
    """A digest of each tensor and field that a resumed training depends on, by name."""
    return {name: hashlib.sha256(value).hexdigest() for name, value in named_tensors(checkpoint(run, step).read_bytes()).items()}


def part(path, name):
    """The `state`, `vocabulary` or `config` of a checkpoint."""
    return json.loads(safetensors(path.read_bytes())[0]["__metadata__"][name])


def checksums(data):
    """crc_read and crc_all of a checkpoint: up to the optimizer's tensors, and of all, where both are zeros."""
    header, begin = safetensors(data)
    end = begin + max(header[name]["data_offsets"][1] for name in header if not name.startswith(("__metadata__", "optimizer.")))
    data = CHECKSUMS.sub(rb'\g<1>00000000"', data[:begin]) + data[begin:]
    return {"crc_read": f"{zlib.crc32(data[:end]):08x}", "crc_all": f"{zlib.crc32(data):08x}"}


def is_whole(path):
    data = path.read_bytes()
    return checksums(data).items() <= safetensors(data)[0]["__metadata__"].items()


def rewrite(path, values=None, **parts):
    """Replaces the bytes of weights and whole parts of a checkpoint, and mends its checksums."""
    data = replaced(path.read_bytes(), values or {}, {name: json.dumps(value) for name, value in parts.items()})
    path.write_bytes(replaced(data, {}, checksums(data)))


def damage(path):
    """Flips a bit of the first weight."""
    data = bytearray(path.read_bytes())
    data[safetensors(data)[1]] ^= 1
    path.write_bytes(data)
