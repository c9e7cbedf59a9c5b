#!/usr/bin/env python3
"""`default`, trained for a minute, frozen and learning as it scores, beside the strongest compressor, on tinyshakespeare, data/sample.txt and the texts of texts.py.

    scripts/measure/classes.py                     every text; writes the table into configs/LOG.md; about 25 minutes on two quiet cores
    scripts/measure/classes.py --only sample       this text alone (tinyshakespeare, sample, or a package of texts.py); the table holds all that is kept
    scripts/measure/classes.py --text mine=FILE    a text of one's own: prints its row

`chargpt eval --adapt=auto --counts` gives the losses and those of PPMd, compressors.py that of zpaq, all on the same last tenth of the text, given the rest.
Figures are kept in --work: broken off, the same command goes on.
"""

import datetime
import hashlib
import json
import math
import shutil
import time

from compressors import zpaq
from texts import TEXTS, fetch
from workbench import ROOT, Program, parsed, parser_for, processor, refuse_unknown, replace_file, write_part

BEGIN, END = "<!-- classes: begin (scripts/measure/classes.py writes this table) -->", "<!-- classes: end -->"
OWN = {"tinyshakespeare": ROOT / "data/tinyshakespeare.txt", "`data/sample.txt`": ROOT / "data/sample.txt"}
EPOCHS = 5  # at most, in training: of a short text more would be learnt by heart


class Text:
    """One text's figures, each measured once."""

    def __init__(self, name, path, options):
        self.name, self.path, self.options, self.program = name, path, options, Program(options.program)
        data = path.read_bytes()
        self.text = data.decode()
        self.run = options.work / f"{path.stem}-{hashlib.sha256(data).hexdigest()[:8]}"
        self.file = self.run.with_name(f"{self.run.name}.json")
        self.figures = json.loads(self.file.read_text()) if self.file.exists() else {}

    def once(self, name, measure, *arguments):
        if self.figures.get(name) is None:
            self.figures[name] = measure(*arguments)
            replace_file(self.file, json.dumps(self.figures, indent=1) + "\n")
        return self.figures[name]

    def train(self):
        threads = "--threads", self.options.threads
        length = "--max_seconds", self.options.seconds, "--max_epochs", EPOCHS
        ended = self.program.json("train", "default", *length, "--text", self.path, *threads, "--quiet", "--run", self.run, "--overwrite")
        return {"seconds": ended["seconds"], "step": ended["checkpoint"]["step"], "day": datetime.date.today().isoformat(), "processor": processor()}

    def evaluate(self):
        begin = time.perf_counter()
        figures = self.program.json("eval", self.run, "--adapt=auto", "--counts", "--threads", self.options.threads)
        return {key: figures[key] for key in ("loss", "network_loss", "tokens", "baselines")} | {"seconds": time.perf_counter() - begin}

    def zpaq(self):
        """Nats a character; None if zpaq is not installed."""
        train = self.text[:len(self.text) - self.figures["adaptive"]["tokens"] - 1]
        scored = self.text[len(train):]
        found = zpaq(train, scored)
        return found and 8 * math.log(2) * found / len(scored)

    def measure(self):
        if "adaptive" not in self.figures and not self.run.exists():
            self.figures = {}
        self.once("trained", self.train)
        self.once("adaptive", self.evaluate)
        shutil.rmtree(self.run, ignore_errors=True)
        self.once("zpaq", self.zpaq)

    def is_measured(self):
        return {"adaptive", "zpaq"} <= self.figures.keys()

    def rival(self):
        """Loss and name of the strongest compressor."""
        losses = {"PPMd": self.figures["adaptive"]["baselines"]["ppmd"]["loss"], "zpaq": self.figures["zpaq"]}
        return min((loss, name) for name, loss in losses.items() if loss is not None)

    def wins(self):
        return self.figures["adaptive"]["loss"] < self.rival()[0]

    def row(self):
        figures, (loss, name) = self.figures["adaptive"], self.rival()
        own = f"**{figures['loss']:.3f}**" if self.wins() else f"{figures['loss']:.3f}"
        return f"| {self.name.split(',')[0]} | {figures['network_loss']:.3f} | {own} ({name} {loss:.3f}) |"


def table(texts):
    heads = ["text", "network alone", "`--adapt=auto --counts` (compressor)"]
    about = {key: sorted({text.figures["trained"][key] for text in texts}) for key in ("day", "processor")}
    slowest = {key: max(text.figures[key]["seconds"] for text in texts) for key in ("trained", "adaptive")}
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *(text.row() for text in texts), "",
                      f"Bold: ahead of the strongest compressor, in {sum(text.wins() for text in texts)} of {len(texts)} texts. One seed; at most {slowest['trained']:.0f} s of training, "
                      f"{slowest['adaptive']:.0f} s of evaluation; "
                      f"{' and '.join(about['processor'])}; {' and '.join(about['day'])}."])


def main():
    parser = parser_for(__doc__, "measure_classes", "project and the packages")
    parser.add_argument("--only", action="append", metavar="NAME", help="measure this text alone; may be repeated")
    parser.add_argument("--seconds", type=float, default=60, help="of training, at most")
    options, given = parsed(parser)
    texts = given or [*OWN.items(), *((name, options.work / f"{TEXTS[name][0]}.txt") for name in TEXTS)]
    refuse_unknown(options.only, [path.stem for _, path in texts])
    measured = []
    for name, path in texts:
        wanted = not options.only or path.stem in options.only
        if wanted and name in TEXTS:
            fetch(name, options.work)
        if wanted or path.exists():
            text = Text(name, path, options)
            if wanted:
                text.measure()
                print(text.row(), flush=True)
            measured += [text] if text.is_measured() else []
    if not given and not options.print:
        write_part(ROOT / "configs/LOG.md", BEGIN, END, table(measured))


if __name__ == "__main__":
    main()
