"""What the scripts that measure on texts take from their command line alike. Knows no measurement."""

import argparse
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parser_for(doc, name, others):
    """--program, --text (in place of `others`), --threads, --work (runs/NAME unless it is given) and --print."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--program", default=os.environ.get("CHARGPT", str(ROOT / "build" / "chargpt")))
    parser.add_argument("--text", action="append", metavar="NAME=FILE", help=f"this text, not those of the {others}; may be repeated")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "runs" / name)
    parser.add_argument("--print", action="store_true", help="write no table")
    return parser


def parsed(parser):
    """The options, with the folder `work` made, and the texts given by --text: (name, path)."""
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    given = [entry.split("=", 1) for entry in options.text or []]
    return options, [(name, pathlib.Path(path).resolve()) for name, path in given]
