#!/usr/bin/env python3
"""`default`, trained for a minute, beside the strongest rival of each class of predictors, on tinyshakespeare, data/sample.txt and the texts of texts.py.

    scripts/measure/classes.py                     every text; writes the table into src/predict/README.md; about 25 minutes on two quiet cores
    scripts/measure/classes.py --only sample       this text alone (tinyshakespeare, sample, or a package of texts.py); the table holds all that is kept
    scripts/measure/classes.py --text mine=FILE    a text of one's own: prints its row

The classes, by what a prediction may depend on beside the training text: the network's own window, 2,048 characters, or all of the text before. `chargpt
eval --adapt --counts` is in the first two with --restart. Counted n-grams, xz and PPMd are measured by `chargpt eval`, zpaq and a PPMd restarted every
2,048 characters (own window: twice its length) by compressors.py, all on the same last tenth of the text, given the rest.
Figures are kept in --work: broken off, the same command goes on.
"""

import datetime
import hashlib
import json
import math
import shutil
import time

from compressors import restarted_ppmd, zpaq
from texts import TEXTS, fetch
from workbench import ROOT, Program, parsed, parser_for, processor, refuse_unknown, replace_file, write_part

BEGIN, END = "<!-- classes: begin (scripts/measure/classes.py writes this table) -->", "<!-- classes: end -->"
OWN = {"tinyshakespeare": ROOT / "data/tinyshakespeare.txt", "`data/sample.txt`": ROOT / "data/sample.txt"}
EPOCHS = 5  # at most, in training: of a short text more would be learnt by heart
CLASSES = ["window", "context", "adaptive"]
CONTEXT = 2048


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

    def evaluate(self, restart):
        begin = time.perf_counter()
        figures = self.program.json("eval", self.run, "--adapt", "--counts", "--restart", restart, "--threads", self.options.threads)
        return {key: figures[key] for key in ("loss", "network_loss", "tokens", "block_size", "baselines")} | {"seconds": time.perf_counter() - begin}

    def compressed(self, size, *arguments):
        """Nats a character; none where the compressor is missing."""
        train = self.text[:len(self.text) - self.figures["adaptive"]["tokens"] - 1]
        scored = self.text[len(train):]
        found = size(train, scored, *arguments)
        return found and 8 * math.log(2) * found / len(scored)

    def measure(self):
        if "window" not in self.figures and not self.run.exists():
            self.figures = {}
        self.once("trained", self.train)
        self.once("adaptive", self.evaluate, 0)
        window = self.figures["adaptive"]["block_size"]
        self.once("context", self.evaluate, CONTEXT)
        self.once("window", self.evaluate, window)
        shutil.rmtree(self.run, ignore_errors=True)
        self.once("PPMd in windows", self.compressed, restarted_ppmd, 2 * window)
        self.once("PPMd with context", self.compressed, restarted_ppmd, CONTEXT)
        self.once("zpaq", self.compressed, zpaq)

    def is_measured(self):
        return {"window", "zpaq"} <= self.figures.keys()

    def rivals(self):
        """Of each class: name -> loss."""
        baselines, figures = self.figures["adaptive"]["baselines"], self.figures
        grams = f"{baselines['ngram']['order']}-grams"
        rivals = {"window": {grams: baselines["ngram"]["loss_in_windows"], "PPMd": figures["PPMd in windows"]},
                  "context": {grams: baselines["ngram"]["loss"], "PPMd": figures["PPMd with context"]},
                  "adaptive": {"gzip": baselines["gzip"], "xz": baselines["xz"], "PPMd": baselines.get("ppmd", {}).get("loss"), "zpaq": figures["zpaq"]}}
        return {kind: {name: loss for name, loss in of_kind.items() if loss is not None} for kind, of_kind in rivals.items()}

    def losses(self):
        return {kind: self.figures[kind]["loss"] for kind in CLASSES}

    def wins(self):
        """The classes in which it has the lowest loss."""
        return [kind for kind, loss in self.losses().items() if loss < min(self.rivals()[kind].values())]

    def row(self):
        cells, losses, won = [self.name.split(",")[0], f"{self.figures['adaptive']['network_loss']:.3f}"], self.losses(), self.wins()
        for kind in CLASSES:
            loss, name = min((loss, name) for name, loss in self.rivals()[kind].items())
            own = f"{losses[kind]:.3f}"
            cells.append(f"{f'**{own}**' if kind in won else own} ({name} {loss:.3f})")
        return f"| {' | '.join(cells)} |"


def table(texts):
    heads = ["text", "network alone", "own window (rival)", f"{CONTEXT:,} characters", "all text before"]
    window, context, adaptive = (sum(kind in text.wins() for text in texts) for kind in CLASSES)
    about = {key: sorted({text.figures["trained"][key] for text in texts}) for key in ("day", "processor")}
    slowest = {key: max(text.figures[key]["seconds"] for text in texts) for key in ("trained", "adaptive")}
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *(text.row() for text in texts), "",
                      f"Bold: ahead of the strongest rival, in {window}, {context} and {adaptive} of {len(texts)} texts. One seed; at most {slowest['trained']:.0f} s of training, "
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
        write_part(ROOT / "src/predict/README.md", BEGIN, END, table(measured))


if __name__ == "__main__":
    main()
