#!/usr/bin/env python3
"""Reference figures of the counting baselines, in plain Python and independent of the program.

    scripts/reference/ngram.py data/tinyshakespeare.txt [--block-size 64] [--orders 8]

Prints one JSON object: losses of Witten-Bell n-gram models in nats per character, on the last 10 % of the text. Without --block-size the context of a prediction reaches as far back as the model's order;
with it, the split is cut into consecutive windows and no context crosses a cut. The golden figures of tests/baseline come
from here: both ways for tinyshakespeare, windows of 4 for the sentence in quotes there.
"""
import argparse
import json
import math
import sys
from collections import Counter, defaultdict

from golden import check, tinyshakespeare


def count(text, longest):
    """How often each n-gram occurs, and what followed each context: its number of tokens, and of different ones."""
    grams = Counter(text[i - n : i + 1] for n in range(longest) for i in range(n, len(text)))
    tokens, distinct = defaultdict(int), defaultdict(int)
    for gram, times in grams.items():
        tokens[gram[:-1]] += times
        distinct[gram[:-1]] += 1
    return grams, tokens, distinct


def losses(counts, split, symbols, block_size, longest):
    """Mean -ln p of every predictable character, one figure for each order 1..longest."""
    grams, tokens, distinct = counts
    sums = [0.0] * longest
    for target in range(1, len(split)):
        start = (target - 1) // block_size * block_size if block_size else 0
        p = 1 / symbols
        for n in range(longest):
            context = split[target - n : target]
            if target - n >= start and context in tokens:
                p = (grams[context + split[target]] + distinct[context] * p) / (tokens[context] + distinct[context])
            sums[n] -= math.log(p)
    return [total / (len(split) - 1) for total in sums]


def parts_of(path):
    """The train split, the last 10 %, and the number of symbols."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    cut = int(0.9 * len(text))
    return text[:cut], text[cut:], len(set(text))


def golden_figures(path):
    train, split, symbols = parts_of(path)
    counts = count(train, 8)
    figures = {str(block_size): losses(counts, split, symbols, block_size, 8) for block_size in (0, 64)}
    return {"ngram.json": {"source": "scripts/reference/ngram.py data/tinyshakespeare.txt [--block-size 64]; orders 1 to 8; 0: no cuts", **figures}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs="?")
    parser.add_argument("--check", action="store_true", help="compare with the files")
    parser.add_argument("--block-size", type=int, default=0)
    parser.add_argument("--orders", type=int, default=8)
    arguments = parser.parse_args()
    if arguments.check:
        return check(lambda: golden_figures(tinyshakespeare("reference")), limit=lambda *_: 1e-6)
    if not arguments.text:
        parser.error("a text is needed")
    train, split, symbols = parts_of(arguments.text)
    figures = losses(count(train, arguments.orders), split, symbols, arguments.block_size, arguments.orders)
    return print(json.dumps({"uniform": round(math.log(symbols), 6), "ngram": [round(figure, 6) for figure in figures]}))


if __name__ == "__main__":
    sys.exit(main())
