"""What zpaq, the best compressor that the program itself does not measure, reaches on the held-out part of a text, given the rest.

zpaq (Debian: zpaq) learns from the text that it compresses. Where it is not installed it has no figure.
"""

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
