#!/usr/bin/env python3
"""Reference figures of --counts, in plain Python and independent of the program: losses of counts by context mixing (src/predict/counts.h), and of their mixture
with a network (mixture.h) that a formula stands in for. Writes tests/golden/counts.json.

    python3 scripts/reference/counts.py            write the file
    python3 scripts/reference/counts.py --check    compute again and compare with the file, within 1e-9
"""
import heapq
import math
import struct
import sys
from types import SimpleNamespace

from golden import ROOT, keep_or_check

MASK = 2**64 - 1
ORDERS, CONTEXTS, REACH, VECTORS = 6, 19, 1024, 4096


def stretch(p):
    return math.log(p / (1 - p))


def squash(x):
    return 1 / (1 + math.exp(-x))


def clamp(x, least, most):
    return min(max(x, least), most)


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def joined(*values):
    first = joined(*values[:-1]) if len(values) > 2 else values[0]
    return mixed(first * 0x9E3779B97F4A7C15 + values[-1])


def mixed(x):
    x &= MASK
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def huffman(frequencies):
    """Of each symbol, its decisions (node, bit) from the root down, and the number of nodes."""
    # Parts are (frequency, order of making, symbols below with their paths so far); the rarer part is bit 0.
    parts = [(frequency, symbol, {symbol: []}) for symbol, frequency in enumerate(frequencies)]
    heapq.heapify(parts)
    nodes = 0
    while len(parts) > 1:
        zeros, ones = heapq.heappop(parts), heapq.heappop(parts)
        below = {symbol: [(nodes, bit)] + path for bit, part in enumerate((zeros, ones)) for symbol, path in part[2].items()}
        heapq.heappush(parts, (zeros[0] + ones[0], len(frequencies) + nodes, below))
        nodes += 1
    return [parts[0][2][symbol] for symbol in range(len(frequencies))], nodes


def history_after(state, bit):
    """A history of bits is (zeros, ones, last bit): what came most lately, at most 24 of one bit."""
    same, other = min(state[bit] + 1, 24), state[1 - bit]
    other = min((other + 3) // 2, other - 1) if other > 2 else other
    return (other, same, 1) if bit else (same, other, 0)


class Table:
    """Groups of ten entries [check, p, bits, history]."""

    def __init__(self, entries):
        self.groups = [[[0, 0, 0, (0, 0, 0)] for _ in range(10)] for _ in range(entries // 10 + 1)]

    def find(self, key, add=False):
        group, check = self.groups[(key >> 32) * len(self.groups) >> 32], max(key & 0xFFFF, 1)
        found = next((entry for entry in group if entry[0] == check), None)
        if add and not found:
            found = min(group, key=lambda entry: entry[2])  # the first of those
            found[:] = [check, 1 << 15, 0, (0, 0, 0)]
        return found


class Mixer:
    def __init__(self, first, weights_rate, averages_rate):
        self.first, self.weights_rate, self.averages_rate = first, weights_rate, averages_rate
        self.weights, self.averages = {}, {}

    def mix(self, inputs, chosen):
        vectors = [self.weights.setdefault((s, c), list(self.first)) for s, c in enumerate(chosen)]
        averages = [self.averages.setdefault((s, chosen[s]), [1 / len(chosen)] * len(chosen)) for s in (0, 1)]
        logits = [self.dot(vector, inputs) for vector in vectors]
        both = [self.dot(average, logits) for average in averages]
        return sum(both) / 2, [(vectors, inputs, logits, self.weights_rate), (averages, logits, both, self.averages_rate)]

    @staticmethod
    def dot(weights, inputs):
        return clamp(sum(w * x for w, x in zip(weights, inputs)), -15, 15)

    @staticmethod
    def learn(mixed, bit):
        """Each vector and each average from its own error."""
        for vectors, inputs, logits, rate in mixed[1]:
            for vector, logit in zip(vectors, logits):
                vector[:] = [w + (bit - squash(logit)) * rate * x for w, x in zip(vector, inputs)]


class ProbabilityMap:
    """Curves of 33 points, logits -8 to 8, in float32."""

    start = [float32(squash((i - 16) / 2)) for i in range(33)]

    def __init__(self):
        self.curves = {}

    def point(self, context, logit):
        """A curve with the two points beside the logit and their shares of it."""
        place = clamp(logit, -8, 8) * 2 + 16
        below = min(int(place), 31)
        return self.curves.setdefault(context, list(self.start)), ((below, 1 - (place - below)), (below + 1, place - below))

    @staticmethod
    def at(curve, points):
        return sum(curve[i] * share for i, share in points)

    @staticmethod
    def learn(curve, points, bit):
        for i, share in points:
            curve[i] = float32(curve[i] + float32(bit - curve[i]) * 0.02 * share)


def letter_of(symbol):
    """0 of what stands between words."""
    return ord(symbol.lower() if symbol.isascii() else symbol) if symbol != "" and (symbol >= "\x80" or symbol == "'" or symbol.isalpha()) else 0


def kind_of(symbol):
    """Capitals, other letters, digits, spaces, line ends, others."""
    if letter_of(symbol):
        return 1 if "A" <= symbol <= "Z" else 2
    return {" ": 4, "\n": 5}.get(symbol, 3 if symbol.isdigit() else 6)


class Counts:
    def __init__(self, symbols, frequencies, tokens):
        """`symbols`: the characters in order of their ids; "" is the document's end."""
        self.paths, self.nodes = huffman(frequencies)
        self.symbols, self.letters = symbols, [letter_of(symbol) for symbol in symbols]
        self.table = Table(min(64 * max(tokens, 64), 8_000_000 + 8 * min(tokens, 2_000_000)))
        self.runs = [(0, 0, 0)] * (8 * clamp(tokens, 64, 1_000_000))  # check, symbol, times in a row
        self.mixer, self.maps = Mixer([0.06] * (3 * CONTEXTS + 3), 0.0015, 0.001), (ProbabilityMap(), ProbabilityMap())
        self.of_history, self.of_run, self.of_match = [{} for _ in range(CONTEXTS)], [{} for _ in range(CONTEXTS)], [[0.75, 0] for _ in range(32)]
        self.text, self.last_place, self.followers = [], {}, {}

    # Contexts

    @staticmethod
    def new_history():
        return SimpleNamespace(recent=[-1] * ORDERS, word=0, previous_word=0, word_before=0, word_length=0, word_begin=0, kinds=0, line=0, column=0, above=0,
                               length=0, headings=[(0, -REACH)] * 3, match=-1, matched=0)  # headings: hash, begin

    @staticmethod
    def match_place(history):
        return joined(0, *(symbol + 1 for symbol in history.recent)) % 2**20

    @staticmethod
    def follower_place(history):
        return joined(history.recent[0] + 1, history.recent[1] + 1) % 2**16

    def advance(self, history, symbol):
        if self.symbols[symbol] == "":
            history.__dict__.update(self.new_history().__dict__)
            return
        history.recent = [symbol] + history.recent[:-1]
        history.length += 1
        if self.letters[symbol]:
            history.word_begin = history.word_begin if history.word else symbol
            history.word, history.word_length = joined(history.word, self.letters[symbol]), min(history.word_length + 1, 15)
        elif history.word:
            history.word_before, history.previous_word, history.word, history.word_length = history.previous_word, history.word, 0, 0
        kind = kind_of(self.symbols[symbol])
        if kind > 2 or history.kinds % 8 != kind:
            history.kinds = (history.kinds << 3 | kind) & MASK
        if self.symbols[symbol] != "\n":
            history.line, history.column = joined(history.line, symbol + 1), min(history.column + 1, REACH - 1)
        else:
            if history.column == 0:
                history.headings = [(0, history.length)] + history.headings[:2]
            elif history.headings[0][0] == 0:
                history.headings = [(history.line, history.headings[0][1])] + history.headings[1:]
            history.above, history.line, history.column = history.column, 0, 0
        if 0 <= history.match < len(self.text) - 1 and self.text[history.match] == symbol:
            history.match += 1
            history.matched += 1
            return
        place = self.last_place.get(self.match_place(history), -1) if history.recent[-1] >= 0 else -1
        found = ORDERS <= place < len(self.text) and self.text[place - ORDERS : place][::-1] == history.recent
        history.match, history.matched = (place, ORDERS) if found else (-1, 0)

    def history_of(self, ids):
        history = self.new_history()
        for symbol in ids[-REACH:]:
            self.advance(history, symbol)
        return history

    def place_of(self, history):
        last, before, third, *older = (symbol + 1 for symbol in history.recent)
        keys = [0] + [joined(0, *(last, before, third, *older)[:order]) for order in range(1, ORDERS + 1)]
        word = history.word or last
        near = [(value, history.length - begin < REACH - 1) for value, begin in history.headings]
        headings, in_heading = [value if is_near else 0 for value, is_near in near], near[0] == (0, True)
        above = history.above if history.above + history.column + 1 < REACH else REACH
        keys += [word, joined(word, history.previous_word), joined(word, history.word_before), joined(last, history.column), joined(before, third),
                 history.kinds % 2**32, joined(history.kinds % 2**16, last, before), self.followers.get(self.follower_place(history), 0),
                 joined(above, joined(last, history.column)), joined(history.line if in_heading else last, headings[1]),
                 joined(history.line, headings[2]) if in_heading else joined(last, before, headings[0]), joined(headings[0], word)]  # fmt: skip
        keys = [joined(key, i + 1) for i, key in enumerate(keys)]
        runs = [run[1:] if run[2] and run[0] == key % 2**16 else (-1, 0) for key, run in ((key, self.runs[self.run_of(key)]) for key in keys)]
        return SimpleNamespace(keys=keys, runs=runs, last=history.recent[0], expected=self.text[history.match] if history.match >= 0 else -1,
                               matched=min(history.matched, 31), kinds=history.kinds % 2**12, placed=joined(history.word_length, history.column // 4),
                               begun=joined(history.word_length, history.word_begin if history.word else history.recent[0]))

    def run_of(self, key):
        return (key >> 32) * len(self.runs) >> 32

    # Decisions

    @staticmethod
    def logit(step):
        return stretch((math.floor(step) + 0.5) / 4096)

    def estimate(self, context, state):
        return self.of_history[context].setdefault(state, [(state[1] + 0.4) / (state[0] + state[1] + 0.8), 0])

    def decide(self, place, node, known):
        """`known`: contexts that saw the decision before."""
        keys = [joined(key, node) for key in place.keys]
        decision = SimpleNamespace(keys=keys, seen=[self.table.find(key) if context in known else None for context, key in enumerate(keys)], known=set(), inputs=[])
        decision.runs = [None] * CONTEXTS
        pattern = longest = bits_of_longest = 0
        for context, seen in enumerate(decision.seen):
            kind, inputs = 0, [0.0, 0.0, 0.0]
            if seen is not None and seen[2] > 0:
                decision.known.add(context)
                _, p, bits, state = seen
                kind = 1 if state[0] and state[1] else 2
                symbol, times = place.runs[context]
                inputs[:2] = self.logit(self.estimate(context, state)[0] * 4096), self.logit(p // 16)
                if (bit := self.bit_at(symbol, node)) is not None:
                    decision.runs[context] = bit, self.of_run[context].setdefault(2 * times + kind - 1, [0.6, 0])
                    inputs[2] = self.logit(decision.runs[context][1][0] * 4096) * (2 * bit - 1)
                if context <= ORDERS:
                    longest, bits_of_longest = context, min(3, bits)
            if 2 <= context <= ORDERS:
                pattern = 3 * pattern + kind
            decision.inputs += inputs
        decision.expected = self.bit_at(place.expected, node)
        p = self.of_match[place.matched][0]
        sign = 0 if decision.expected is None else 2 * decision.expected - 1
        decision.inputs += [sign * stretch(p), sign * (2 * p - 1), 0.3]
        expected = 0 if decision.expected is None else place.expected + 1
        decision.chosen = [mixed(value) % VECTORS for value in (
            node, place.kinds, joined(place.matched, int(expected > 0)), joined(node, place.last + 1), place.begun, place.placed,
            joined(expected, int(decision.expected or 0)), longest + (ORDERS + 1) * bits_of_longest, joined(node, longest), pattern)]  # fmt: skip
        decision.mixed = self.mixer.mix(decision.inputs, decision.chosen)
        contexts = ((place.last + 1) * self.nodes + node) % 2**16, joined(place.keys[2], node) % 2**16
        decision.points = [one.point(context, decision.mixed[0]) for one, context in zip(self.maps, contexts)]
        corrected = sum(ProbabilityMap.at(*points) for points in decision.points)
        decision.p = clamp(0.5 * squash(decision.mixed[0]) + 0.25 * corrected, 1e-6, 1 - 1e-6)
        return decision

    def bit_at(self, symbol, node):
        return dict(self.paths[symbol]).get(node) if symbol >= 0 else None

    def decisions(self, history, symbol):
        """(depth, node, bit, place, decision) of a symbol, from the root down."""
        place, known = self.place_of(history), set(range(CONTEXTS))
        for depth, (node, bit) in enumerate(self.paths[symbol]):
            decision = self.decide(place, node, known)
            known = decision.known
            yield depth, node, bit, place, decision

    def learn(self, place, decision, bit):
        def towards(estimate, came, most, least, largest):
            estimate[1] = min(estimate[1] + 1, most)
            estimate[0] = clamp(estimate[0] + (came - estimate[0]) / (estimate[1] + 1.5), least, largest)

        Mixer.learn(decision.mixed, bit)
        for points in decision.points:
            ProbabilityMap.learn(*points, bit)
        for context, key in enumerate(decision.keys):
            seen = decision.seen[context] or self.table.find(key, add=True)
            towards(self.estimate(context, seen[3]), bit, 1000, 1e-4, 1 - 1e-4)
            if decision.runs[context]:
                towards(decision.runs[context][1], decision.runs[context][0] == bit, 1000, 1e-3, 1 - 1e-3)
            seen[3] = history_after(seen[3], bit)
            seen[1] += int((65535 - seen[1] if bit else -seen[1]) / (seen[2] + 1.6))
            seen[2] = min(250, seen[2] + 1)
        if decision.expected is not None:
            towards(self.of_match[place.matched], decision.expected == bit, 500, 0.02, 0.9998)

    def count(self, history, symbol):
        before = self.place_of(history)
        for key, (followed, times) in zip(before.keys, before.runs):
            self.runs[self.run_of(key)] = key % 2**16, symbol, min(31, times + 1 if followed == symbol else 1)
        place = self.follower_place(history)
        self.followers[place] = (self.followers.get(place, 0) << 32 | symbol + 1) & MASK
        self.advance(history, symbol)
        self.text.append(symbol)
        if history.recent[-1] >= 0:
            self.last_place[self.match_place(history)] = len(self.text)

    def loss(self, history, symbol, learn):
        loss = 0.0
        for _, _, bit, place, decision in self.decisions(history, symbol):
            loss -= math.log(decision.p if bit else 1 - decision.p)
            if learn:
                self.learn(place, decision, bit)
        (self.count if learn else self.advance)(history, symbol)
        return loss


def probabilities_of(logits):
    top = max(logits)
    exponentials = [math.exp(logit - top) for logit in logits]
    return [e / sum(exponentials) + 1e-6 for e in exponentials]  # the tree divides by their sum


def network_logit(paths, probabilities, symbol, depth):
    """Of the decision that a symbol takes at some depth of the tree."""
    here = [v for v, path in enumerate(paths) if path[:depth] == paths[symbol][:depth]]
    ones = sum(probabilities[v] for v in here if paths[v][depth][1])
    return stretch(clamp(ones / sum(probabilities[v] for v in here), 1e-6, 1 - 1e-6))


class Mixture:
    def __init__(self, network, counts, weights):
        """network(id, position in the window): float32 logits. `weights`: of the network, of the counts."""
        self.network, self.counts = network, counts
        self.mixer = Mixer([0.0] * (3 * CONTEXTS + 3) + [weights[1], weights[0]], 0.003, 0.0005)

    def loss(self, logits, history, symbol, learn):
        counts, probabilities = self.counts, probabilities_of(logits)
        largest, loss, reached = max(probabilities), 0.0, 1.0
        for depth, node, bit, place, decision in counts.decisions(history, symbol):
            both = network_logit(counts.paths, probabilities, symbol, depth), stretch(decision.p)
            inputs = decision.inputs + [both[1], both[0]]
            steps = [min(11, int(abs(logit) * 1.5)) for logit in both]
            own = 12 * steps[0] + steps[1], 4 * probabilities.index(largest) + min(3, int(4 * largest))
            both_mixed = self.mixer.mix(inputs, decision.chosen[:8] + [mixed(value) % VECTORS for value in own])
            p = clamp(squash(both_mixed[0]), 1e-6, 1 - 1e-6) if reached >= 1e-3 else squash(both[0])
            reached *= p if bit else 1 - p
            loss -= math.log(p if bit else 1 - p)
            if learn:
                Mixer.learn(both_mixed, bit)
                counts.learn(place, decision, bit)
        (counts.count if learn else counts.advance)(history, symbol)
        return loss

    def losses(self, ids, window, learn):
        """Of ids[1:], in windows one after the other, as if nothing stood before ids[0]."""
        history = self.counts.history_of(ids[:1])
        return [self.loss(self.network(ids[i], i % window), history, ids[i + 1], learn) for i in range(len(ids) - 1)]


# What the figures are of

FORMULA = "logits of symbol v after the id i at position t of a window: float32(4 (mix(8192 t + 128 i + v) / 2^31 - 1)), mix as in tests/golden_weights.h"


def mix(x):
    x = (x ^ x >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    x = (x ^ x >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return x ^ x >> 16


def logits_of(symbols):
    return lambda i, t: [float32(4 * (mix(8192 * t + 128 * i + v) / 2147483648 - 1)) for v in range(symbols)]


def case_of(train, text, lines, window=16, weights=(0.4, 0.7)):
    """Counts learn `train` symbol by symbol; then `text` is scored, frozen, and by two mixtures with a network, frozen and adaptive."""
    symbols = sorted(set(train + text) - {"\n"}) + [""] if lines else sorted(set(train + text))
    to_ids = {symbol: i for i, symbol in enumerate(symbols)}
    train_ids, ids = ([to_ids["" if lines and symbol == "\n" else symbol] for symbol in part] for part in (train, text))
    counts = Counts(symbols, [train_ids.count(v) for v in range(len(symbols))], len(train_ids))
    history = counts.new_history()
    case = {"train": train, "text": text, "documents": lines, "window": window, "weights": {"network": weights[0], "counts": weights[1]}}
    case["train_losses"] = [counts.loss(history, symbol, learn=True) for symbol in train_ids]
    history = counts.history_of(ids[:1])
    case["losses"] = [counts.loss(history, symbol, learn=False) for symbol in ids[1:]]
    for name, learn in (("mixture_losses", False), ("adaptive_losses", True)):
        case[name] = Mixture(logits_of(len(symbols)), counts, weights).losses(ids, window, learn)
    return case


def weights_case(text, window=16):
    """Weights of network and counts, learned on the last twentieth of a text by counts that leave it out."""
    symbols = sorted(set(text))
    ids = [symbols.index(symbol) for symbol in text]
    network, first = logits_of(len(symbols)), len(ids) - len(ids) // 20
    counts = Counts(symbols, [ids.count(v) for v in range(len(symbols))], len(ids))
    history = counts.new_history()
    for symbol in ids[:first]:
        counts.loss(history, symbol, learn=True)
    # Newton's method on the logistic loss, a step for each decision, with the Hessian so far.
    w, hessian = [0.5, 0.5], [10.0, 0.0, 10.0]
    for i in range(first, len(ids) - 1):
        t = (i - first) % window
        if t == 0:
            history = counts.history_of(ids[:i])
        counts.advance(history, ids[i])
        probabilities = probabilities_of(network(ids[i], t))
        for depth, _, bit, _, decision in counts.decisions(history, ids[i + 1]):
            x = network_logit(counts.paths, probabilities, ids[i + 1], depth), stretch(decision.p)
            p = squash(w[0] * x[0] + w[1] * x[1])
            hessian = [h + p * (1 - p) * product for h, product in zip(hessian, (x[0] * x[0], x[0] * x[1], x[1] * x[1]))]
            gradient = (p - bit) * x[0], (p - bit) * x[1]
            determinant = hessian[0] * hessian[2] - hessian[1] ** 2
            w[0] -= (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant
            w[1] -= (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant
    if w[0] > 0.5:
        w = [0.5, 0.5]
    return {"text": text, "window": window, "tokens": len(ids) - 1 - first, "network": w[0], "counts": w[1]}


def figures():
    text = (ROOT / "data/sample.txt").read_text(encoding="utf-8")
    # The parts of `text` after the first stand in `train` too, and are found as matches.
    return {"logits": FORMULA, "cases": [
        case_of(text[:1700] + text[200:500], text[1700:2000] + "#\n" + text[900:1000] + text[1800:2000], lines=False),
        case_of(text[3000:3600] + text[3100:3300], text[3400:3700] + text[3000:3100], lines=True)],
        "weights": weights_case(text[:10_400])}  # fmt: skip


if __name__ == "__main__":
    sys.exit(keep_or_check(__doc__, lambda: {"counts.json": figures()}, limit=lambda *_: 1e-9))
