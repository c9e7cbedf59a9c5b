#!/usr/bin/env python3
"""Reference figures of the counting baselines, in plain Python and independent of the program: losses of Witten-Bell n-gram models of orders 1 to 8 in nats
per character, on the last 10 % of tinyshakespeare. Writes tests/golden/ngram.json: with contexts as long as the order, and within windows of 64.

    python3 scripts/reference/ngram.py            write the file
    python3 scripts/reference/ngram.py --check    compute again and compare with the file, within 1e-6
"""
import math
import sys
from collections import Counter, defaultdict

from golden import keep_or_check, tinyshakespeare

ORDERS = 8


def count(text):
    """How often each n-gram occurs, and what followed each context: its number of tokens, and of different ones."""
    grams = Counter(text[i - n : i + 1] for n in range(ORDERS) for i in range(n, len(text)))
    tokens, distinct = defaultdict(int), defaultdict(int)
    for gram, times in grams.items():
        tokens[gram[:-1]] += times
        distinct[gram[:-1]] += 1
    return grams, tokens, distinct


def losses(counts, split, symbols, block_size):
    """Mean -ln p of every predictable character, one figure for each order; no context crosses a cut between windows of block_size, 0: no cuts."""
    grams, tokens, distinct = counts
    sums = [0.0] * ORDERS
    for target in range(1, len(split)):
        start = (target - 1) // block_size * block_size if block_size else 0
        p = 1 / symbols
        for n in range(ORDERS):
            context = split[target - n : target]
            if target - n >= start and context in tokens:
                p = (grams[context + split[target]] + distinct[context] * p) / (tokens[context] + distinct[context])
            sums[n] -= math.log(p)
    return [round(total / (len(split) - 1), 6) for total in sums]


def document():
    text = tinyshakespeare("reference").read_bytes().decode()
    cut = int(0.9 * len(text))
    counts, symbols = count(text[:cut]), len(set(text))
    return {"source": "scripts/reference/ngram.py; orders 1 to 8, by the length of windows; 0: no cuts"} | {
        str(block_size): losses(counts, text[cut:], symbols, block_size) for block_size in (0, 64)}


if __name__ == "__main__":
    sys.exit(keep_or_check(__doc__, lambda: {"ngram.json": document()}, limit=lambda *_: 1e-6))
