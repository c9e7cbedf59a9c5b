#!/usr/bin/env python3
"""What compressors reach on the held-out part of a text: the last tenth of its characters, given the rest. They are adaptive: they learn from the
text that they score. PPMd is frozen too: it begins anew from the training part with each stretch of 256 or 2,048 characters. Programs that are not
installed are left out (Debian: p7zip-full, xz-utils, zpaq; PyPI: pyppmd).

    scripts/measure/compressors.py TEXT

A program's loss is the size of the whole text less that of its first nine tenths. That is only fair where both are compressed by the same model:
zpaq chooses block size and memory by the length of its input, and so compresses the shorter one with a smaller model. For zpaq zeros make it as
long as the whole; they cost a few bytes, which are to the rival's advantage.
"""

import argparse
import importlib.util
import math
import os
import pathlib
import shutil
import subprocess
import tempfile
import time


def run(folder, *command):
    """A program that compresses the file `text` of the folder."""
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def xz(folder):
    run(folder, "xz", "-9e", "text")
    return (folder / "text.xz").stat().st_size


def ppmd(folder):
    run(folder, "7z", "a", "-mhc=off", "-m0=PPMd:o=6:mem=256m", "text.7z", "text")
    return int.from_bytes((folder / "text.7z").read_bytes()[12:20], "little")  # of what is packed, without the last header


def zpaq(folder):
    run(folder, "zpaq", "a", "text.zpaq", "text", "-m5", "-fragment", "19")  # in one fragment: equal ones would be stored once
    return (folder / "text.zpaq").stat().st_size


# Program, what it is called, its size of a text, and whether inputs are padded to one length.
RIVALS = [("xz", "xz -9e", xz, False), ("7z", "PPMd var. H, order 6, 256 MB (7z)", ppmd, False), ("zpaq", "zpaq -m5", zpaq, True)]


def size_of(compress, text):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_bytes(text)
        return compress(folder)


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


def restarted_ppmd(pyppmd, train, scored, length):
    """Bytes of `scored`. A coder has up to a byte in hand when it has read the training part, which would be added to each stretch or left out
    each time: so eight coders, which have read a character less each, take the stretches by turns."""
    stretches, coders, size = [scored[i:i + length].encode() for i in range(0, len(scored), length)], 8, 0
    for left_out in range(coders):
        encoder = pyppmd.Ppmd7Encoder(6, 16 << 20)
        encoder.encode(train[:len(train) - left_out].encode())
        nothing = emitted(encoder, b"")
        size += sum(emitted(encoder, stretch) - nothing for stretch in stretches[left_out::coders])
    return size


def print_row(what, size, characters, begin):
    bits = 8 * size / characters
    print(f"{what:<36}{bits * math.log(2):>10.4f}{bits:>10.4f}{time.perf_counter() - begin:>9.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("text", type=pathlib.Path, help="a UTF-8 text")
    text = parser.parse_args().text.read_bytes().decode()
    train = text[:int(0.9 * len(text))]
    whole, first = text.encode(), train.encode()
    print(f"{'compressor':<36}{'nats/char':>10}{'bits/char':>10}{'seconds':>9}")
    for program, what, compress, pads in RIVALS:
        if not shutil.which(program):
            print(f"{what:<36}{'no ' + program + ' here':>29}")
            continue
        begin = time.perf_counter()
        added = size_of(compress, whole) - size_of(compress, first.ljust(len(whole), b"\0") if pads else first)
        print_row(what, added, len(text) - len(train), begin)
    if importlib.util.find_spec("pyppmd") is None:
        return print(f"{'PPMd var. H, restarted':<36}{'no pyppmd here':>29}")
    for length in (256, 2048):
        begin = time.perf_counter()
        size = restarted_ppmd(importlib.import_module("pyppmd"), train, text[len(train):], length)
        print_row(f"PPMd var. H, restarted every {length:,}", size, len(text) - len(train), begin)


if __name__ == "__main__":
    main()
