#!/usr/bin/env python3
"""Presets on texts other than the one they were chosen on, beside nanogpt-cpu trained for as many seconds and, learning as they score, beside compressors.

    scripts/measure/texts.py                          every text below, the presets quick and default; prints a table, about an hour on two quiet cores
    scripts/measure/texts.py --text mine=FILE         a text of one's own
    scripts/measure/texts.py --presets default -- --max_seconds 60 --max_epochs 5     options of its training

Most texts come from Debian packages, fetched with `apt-get download` and not installed, each of another kind. All losses are those of the last tenth,
given the rest; zpaq is measured where it is installed. Runs are kept in --work: broken off, the same command continues.
"""

import argparse
import gzip
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

from workbench import PROGRAM, ROOT, Program

SAYINGS = "usr/share/games/**/*"
# Name -> package, its files, and how many characters of them.
PACKAGES = {
    "Czech and Slovak sayings": ("fortunes-cs", SAYINGS, None),
    "French manual pages": ("manpages-fr", "usr/share/man/**/*.gz", 2_000_000),
    "Japanese reference": ("debian-reference-ja", "usr/share/**/*.ja.txt.gz", None),
    "C++ headers": ("libstdc++-12-dev", "usr/include/c++/12/**/*", 2_000_000),
    "English dictionary of computing": ("dict-foldoc", "usr/share/dictd/*.dict.dz", 2_000_000),
    "Unicode's table of characters": ("unicode-data", "usr/share/unicode/UnicodeData.txt", None),
    "Portuguese sayings": ("fortunes-br", SAYINGS, None),
}


def fetched(name, work):
    """The path of a package's text: its files of the pattern that are UTF-8, unpacked, in order of name."""
    package, pattern, first = PACKAGES[name]
    path = work / f"{package}.txt"
    if not path.exists():
        with tempfile.TemporaryDirectory() as temporary:
            subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package], cwd=temporary, check=True)
            archive = next(pathlib.Path(temporary).glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, f"{temporary}/tree"], check=True)
            files = [file for file in sorted(pathlib.Path(temporary, "tree").glob(pattern)) if file.is_file() and not file.is_symlink() and file.suffix != ".dat"]
            path.write_text("".join(map(text_of, files))[:first], encoding="utf-8")
            print(archive.name, file=sys.stderr)
    return path


def text_of(path):
    data = path.read_bytes()
    try:
        return (gzip.decompress(data) if path.suffix in (".gz", ".dz") else data).decode()
    except UnicodeDecodeError:
        return ""


def zpaq_size(data):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "text").write_bytes(data)
        subprocess.run(["zpaq", "a", "text.zpaq", "text", "-m5", "-fragment", "19"],  # in one fragment: equal ones would be stored once
                       cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return pathlib.Path(folder, "text.zpaq").stat().st_size


def zpaq(text, scored):
    """Nats a character: the size of all less that of what precedes the scored part. zpaq chooses block size and memory by the length of its input, so
    zeros make both as long; they cost a few bytes, to zpaq's advantage."""
    if not shutil.which("zpaq"):
        return "not installed"
    whole, first = text.encode(), text[:-scored].encode()
    return 8 * math.log(2) * (zpaq_size(whole) - zpaq_size(first.ljust(len(whole), b"\0"))) / scored


def rows(name, path, options):
    program, text = Program(), path.read_text(encoding="utf-8")

    def trained(preset, *more):
        """The only row of a comparison, which does what is left to do, and its run's losses."""
        out = options.work / f"{path.stem}-{preset}"
        row = program.json("compare", preset, "--seeds", 1, "--out", out, "--text", path, "--threads", options.threads, *more)["results"][0]["seeds"][0]
        return row["seconds"], ROOT / row["run"], program.json("eval", ROOT / row["run"])

    for preset in options.presets:
        seconds, run, alone = trained(preset, *options.training)
        peer = trained("nanogpt-cpu", "--max_seconds", round(seconds, 1))[2]
        learning = program.json("eval", run, "--adapt=auto", "--counts", "--threads", options.threads)
        losses = [alone["loss"], alone.get("loss_windows_64", alone["loss"]), peer["loss"], learning["loss"], learning["baselines"]["ppmd"]["loss"],
                  zpaq(text, learning["tokens"] + 1)]
        cells = [f"{name}: {len(text):,} characters, {len(set(text)):,} symbols", f"`{preset}`", f"{seconds:.0f}",
                 *(loss if isinstance(loss, str) else f"{loss:.3f}" for loss in losses)]
        print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", action="append", metavar="NAME=FILE", type=lambda word: word.split("=", 1), help="in place of those below; may be repeated")
    parser.add_argument("--presets", nargs="+", default=["quick", "default"])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "runs/measure_texts")
    parser.add_argument("training", nargs="*", help="options of its training")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| text | preset | seconds | loss | in windows of 64 | `nanogpt-cpu` in as many seconds | `--adapt=auto --counts` | PPMd | zpaq |\n" + "|---" * 9 + "|")
    for name, path in options.text or [("tinyshakespeare", ROOT / "data/tinyshakespeare.txt"), ("`data/sample.txt`", ROOT / "data/sample.txt")]:
        rows(name, pathlib.Path(path).resolve(), options)
    for name in PACKAGES if not options.text else ():
        rows(name, fetched(name, options.work), options)


if __name__ == "__main__":
    main()
