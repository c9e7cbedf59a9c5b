"""What the best compressors reach on the held-out part of a text, given the rest: those that the program itself does not measure. Knows no model.

zpaq (Debian: zpaq) learns from the text that it compresses. A restarted PPMd (PyPI: pyppmd) is frozen: it begins anew from the training part with each
stretch of 256 or 2,048 characters. What is not installed has no figure.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile


def zpaq_size(data):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_bytes(data)
        subprocess.run(["zpaq", "a", "text.zpaq", "text", "-m5", "-fragment", "19"],  # in one fragment: equal ones would be stored once
                       cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (folder / "text.zpaq").stat().st_size


def zpaq(train, scored):
    """Bytes of `scored`: the size of both less that of `train`, which is fair only where one model compresses both. zpaq chooses block size and memory
    by the length of its input, so zeros make `train` as long as both; they cost a few bytes, which are to the rival's advantage."""
    if not shutil.which("zpaq"):
        return None
    whole, first = (train + scored).encode(), train.encode()
    return zpaq_size(whole) - zpaq_size(first.ljust(len(whole), b"\0"))


def emitted(encoder, stretch):
    """Bytes that a stretch and the end add to what an encoder has written. The encoder of a child process is a copy that is thrown away."""
    end, begin = os.pipe()
    if os.fork() == 0:
        os.write(begin, str(len(encoder.encode(stretch)) + len(encoder.flush())).encode())
        os._exit(0)
    os.close(begin)
    size = int(os.read(end, 100))
    os.close(end)
    os.wait()
    return size


def restarted_ppmd(train, scored, length):
    """Bytes of `scored`, by variant H, order 6, 16 MB. A coder has up to a byte in hand when it has read the training part, which would be added to each
    stretch or left out each time: so eight coders, which have read a character less each, take the stretches by turns."""
    if importlib.util.find_spec("pyppmd") is None:
        return None
    pyppmd = importlib.import_module("pyppmd")
    stretches, coders, size = [scored[i:i + length].encode() for i in range(0, len(scored), length)], 8, 0
    for left_out in range(coders):
        encoder = pyppmd.Ppmd7Encoder(6, 16 << 20)
        encoder.encode(train[:len(train) - left_out].encode())
        nothing = emitted(encoder, b"")
        size += sum(emitted(encoder, stretch) - nothing for stretch in stretches[left_out::coders])
    return size
