#!/usr/bin/env python3
"""The presets on texts other than the one they were chosen on, each beside nanogpt-cpu trained for as many seconds.

    scripts/measure/texts.py                     every text and preset below; writes the table into configs/LOG.md
    scripts/measure/texts.py --text mine=FILE    a text of one's own: prints its rows

The texts come from Debian packages, fetched with `apt-get download` and not installed; each is of another kind. They were named, and not yet
opened, when the presets were chosen. One run each (--seeds for more). Figures are kept in --work: broken off, the same
command goes on, and the table holds all that is kept, so that --only and --presets may measure it in parts.

A preset's seconds are those of its whole process, start, evaluations and saving included. nanogpt-cpu makes as many steps as take that
long by its measured speed on the same text (`chargpt bench train`), its learning rate falling over just these; its own start and
evaluations come on top, so that it has a little more time than the preset had. A long run of it is evaluated ten times and its best counts,
as the preset's does.
"""

import datetime
import gzip
import hashlib
import json
import pathlib
import shutil
import subprocess
import tempfile

from presets import mean
from workbench import ROOT, Program, parsed, parser_for, refuse_unknown, replace_file, write_part

BEGIN, END = "<!-- other texts: begin (scripts/measure/texts.py writes this table) -->", "<!-- other texts: end -->"
PRESETS = ["quick", "default", "five-minutes", "half-hour"]
SAYINGS = "usr/share/games/**/*"
LONG = 4000  # steps; twice nanogpt-cpu's own length
# Name -> package, its files, and how many characters of them.
TEXTS = {
    "Czech and Slovak sayings": ("fortunes-cs", SAYINGS, None),
    "French manual pages": ("manpages-fr", "usr/share/man/**/*.gz", 2_000_000),
    "Japanese reference": ("debian-reference-ja", "usr/share/**/*.ja.txt.gz", None),
    "C++ headers": ("libstdc++-12-dev", "usr/include/c++/12/**/*", 2_000_000),
    "English dictionary of computing": ("dict-foldoc", "usr/share/dictd/*.dict.dz", 2_000_000),
    "Unicode's table of characters": ("unicode-data", "usr/share/unicode/UnicodeData.txt", None),
    "Portuguese sayings, a short text": ("fortunes-br", SAYINGS, None),
}


def text_of(package, pattern):
    """The package's files of that pattern, those that are UTF-8, unpacked and in order of name; and its own file's name, which holds the version."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package], cwd=folder, check=True)
        archive = next(folder.glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", archive, folder / "tree"], check=True)
        parts = []
        for path in sorted((folder / "tree").glob(pattern)):
            if path.is_file() and path.suffix != ".dat" and not path.is_symlink():
                data = path.read_bytes()
                parts.append(utf8_or_nothing(gzip.decompress(data) if path.suffix in (".gz", ".dz") else data))
        return "".join(parts), archive.name


def utf8_or_nothing(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def fetch(name, work):
    """Path of the text and where it came from; fetched once."""
    package, pattern, first = TEXTS[name]
    path, origin = work / f"{package}.txt", work / f"{package}.origin"
    if not origin.exists():
        text, package_file = text_of(package, pattern)
        path.write_text(text[:first], encoding="utf-8")
        origin.write_text(package_file)
    return path, origin.read_text()


def kept(run):
    return run.with_name(f"{run.name}.json")


class Rows:
    """The runs of one text and of the presets on it."""

    def __init__(self, name, path, options):
        self.path, self.options, self.program = path, options, Program(options.program)
        text = path.read_text(encoding="utf-8")
        self.about = f"{name}: {len(text):,} characters, {len(set(text)):,} symbols"
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:8]

    def runs(self, preset):
        """For each seed: its number, the preset's run, nanogpt-cpu's run."""
        for seed in range(1337, 1337 + self.options.seeds):
            run = self.options.work / f"{self.path.stem}-{self.digest}-{preset}-{seed}"
            yield seed, run, run.with_name(f"{run.name}-nanogpt-cpu")

    def measure(self):
        for preset in self.options.presets:
            for seed, run, rival in self.runs(preset):
                seconds = self.trained(run, preset, seed)["seconds"]
                if not kept(rival).exists() and not self.options.alone:
                    ms = self.program.json("bench", "train", "nanogpt-cpu", *self.common(), "--steps", 100)["ms_per_step"]["median"]
                    iters = max(1, round(1000 * seconds / ms))
                    self.trained(rival, "nanogpt-cpu", seed, "--max_iters", iters, "--lr_decay_iters", 0,
                                 "--warmup_iters", min(100, iters // 10), "--eval_interval", iters // 10 if iters > LONG else iters)

    def common(self):
        return "--text", self.path, "--threads", self.options.threads, "--quiet"

    def trained(self, run, preset, seed, *options):
        """The figures of one run, trained unless they are kept."""
        if not kept(run).exists():
            ended = self.program.json("train", preset, *self.common(), "--seed", seed, "--run", run, "--overwrite", *options)
            figures = self.program.json("eval", run, "--threads", self.options.threads)
            replace_file(kept(run), json.dumps({
                "loss": figures["loss"], "windows_64": figures.get("loss_windows_64", figures["loss"]), "seconds": ended["seconds"],
                "step": ended["checkpoint"]["step"]}))
            shutil.rmtree(run)
        return json.loads(kept(run).read_text())

    def table(self):
        """Its rows of all that is kept, and the days it was measured on."""
        rows, days = [], set()
        for preset in PRESETS:
            mine, theirs = ([file for file in map(kept, column) if file.exists()] for column in list(zip(*self.runs(preset)))[1:])
            if len(mine) < self.options.seeds:
                continue
            days |= {datetime.date.fromtimestamp(file.stat().st_mtime).isoformat() for file in mine + theirs}
            mine, theirs = ([json.loads(file.read_text()) for file in files] for files in (mine, theirs))
            rivals = f"{mean([run['loss'] for run in theirs]):.3f}" if len(theirs) == len(mine) else "not measured"
            cells = [self.about if not rows else "", f"`{preset}`", f"{mean([run['seconds'] for run in mine]):.0f}",
                     *(f"{mean([run[key] for run in mine]):.3f}" for key in ("loss", "windows_64")),
                     rivals]
            rows.append(f"| {' | '.join(cells)} |")
        return rows, days


def parse_arguments():
    parser = parser_for(__doc__, "measure_texts", "packages")
    parser.add_argument("--only", action="append", metavar="PACKAGE", help="measure this text of those below; may be repeated")
    parser.add_argument("--presets", nargs="+", default=PRESETS, choices=PRESETS)
    parser.add_argument("--alone", action="store_true", help="without nanogpt-cpu beside it")
    parser.add_argument("--seeds", type=int, default=1)
    return parsed(parser)


def main():
    options, own = parse_arguments()
    refuse_unknown(options.only, [path.stem for _, path in own] or [package for package, *_ in TEXTS.values()])
    texts = [(name, path, "") for name, path in own] or [(name, *fetch(name, options.work)) for name in TEXTS]
    lines = ["| text | preset | seconds | loss | in windows of 64 | `nanogpt-cpu` in as many seconds |", "|---|---|---|---|---|---|"]
    days = set()
    for name, path, _ in texts:
        rows = Rows(name, path, options)
        if not options.only or path.stem in options.only:
            rows.measure()
        of_text, its_days = rows.table()
        lines += of_text
        days |= its_days
    seeds = "one seed each" if options.seeds == 1 else f"means of {options.seeds} seeds"
    sources = [origin for _, _, origin in texts if origin]
    lines += ["", f"`scripts/measure/texts.py`, {seeds}, {' and '.join(sorted(days))}." + (f" Texts: {', '.join(sources)}." if sources else "")]
    if own or options.print:
        print("\n".join(lines))
    else:
        write_part(ROOT / "configs/LOG.md", BEGIN, END, "\n".join(lines))


if __name__ == "__main__":
    main()
