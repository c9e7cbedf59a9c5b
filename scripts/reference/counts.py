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

from golden import ROOT, keep_or_check

MASK = 2**64 - 1
ORDERS, CONTEXTS, REACH = 6, 12, 256


def stretch(p):
    return math.log(p / (1 - p))


def squash(x):
    return 1 / (1 + math.exp(-x))


def clamp(x, least, most):
    return min(max(x, least), most)


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def mixed_bits(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def joined(first, second):
    return mixed_bits((first * 0x9E3779B97F4A7C15 + second) & MASK)


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


class BitHistory:
    """(zeros, ones, last bit): what came most lately, at most 24 of one bit and 27 of both."""

    first = (0, 0, 0)

    @staticmethod
    def after(state, bit):
        same, other = min(state[bit] + 1, 24), state[1 - bit]
        if other > 2:
            other = min((other + 3) // 2, other - 1)
        while same + other > 27:
            if other > 0:
                other -= 1
            else:
                same -= 1
        return (other, same, 1) if bit else (same, other, 0)


class Table:
    """Groups of ten entries [check, p, bits, history]."""

    def __init__(self, entries):
        self.groups = [[[0, 0, 0, BitHistory.first] for _ in range(10)] for _ in range(entries // 10 + 1)]

    def find(self, key, add=False):
        group, check = self.groups[(key >> 32) * len(self.groups) >> 32], max(key & 0xFFFF, 1)
        for entry in group:
            if entry[0] == check:
                return entry
        if not add:
            return None
        least = min(group, key=lambda entry: entry[2])  # the first of those
        least[:] = [check, 1 << 15, 0, BitHistory.first]
        return least


class Mixer:
    def __init__(self, first, weights_rate, averages_rate):
        self.first, self.rates = first, (weights_rate, averages_rate)
        self.weights, self.averages = {}, {}

    def mix(self, inputs, chosen):
        vectors = [self.weights.setdefault((s, c), list(self.first)) for s, c in enumerate(chosen)]
        averages = self.averages.setdefault(chosen[0], [1 / len(chosen)] * len(chosen))
        logits = []
        for vector in vectors:  # summed as the program sums, places of even and of odd number apart
            even = odd = 0.0
            for i in range(0, len(inputs), 2):
                even += vector[i] * inputs[i]
            for i in range(1, len(inputs), 2):
                odd += vector[i] * inputs[i]
            logits.append(clamp(even + odd, -15, 15))
        logit = 0.0
        for average, own in zip(averages, logits):
            logit += average * own
        return clamp(logit, -15, 15), logits, vectors, averages

    def learn(self, inputs, mixed, bit):
        logit, logits, vectors, averages = mixed
        error = (bit - squash(logit)) * self.rates[1]
        for s, vector in enumerate(vectors):
            own = (bit - squash(logits[s])) * self.rates[0]
            for i, x in enumerate(inputs):
                vector[i] += own * x
            averages[s] += error * logits[s]


class ProbabilityMap:
    """Curves of 33 points, logits -8 to 8, in float32."""

    start = [float32(squash((i - 16) / 2)) for i in range(33)]

    def __init__(self):
        self.curves = {}

    def point(self, context, logit):
        place = clamp(logit, -8, 8) * 2 + 16
        below = min(int(place), 31)
        return self.curves.setdefault(context, list(self.start)), below, place - below

    @staticmethod
    def at(point):
        curve, below, part = point
        return curve[below] * (1 - part) + curve[below + 1] * part

    @staticmethod
    def learn(point, bit):
        curve, below, part = point
        for i, share in ((below, 1 - part), (below + 1, part)):
            curve[i] = float32(curve[i] + float32(bit - curve[i]) * 0.02 * share)


class History:
    def __init__(self):
        self.recent = [-1] * ORDERS
        self.word = self.previous_word = self.word_before = self.column = 0
        self.match, self.matched = -1, 0


class Place:
    pass


class Decision:
    pass


class Counts:
    def __init__(self, symbols, frequencies, tokens):
        """`symbols`: the characters in order of their ids; "" is the document's end."""
        self.paths, self.nodes = huffman(frequencies)
        self.letters = [self.letter(symbol) for symbol in symbols]
        self.line_end = symbols.index("\n") if "\n" in symbols else -1
        self.document = symbols.index("") if "" in symbols else -1
        self.table = Table(clamp(tokens * 12, 4096, 24_000_000))
        self.mixer = Mixer([0.25] * (2 * CONTEXTS + 3), 0.0015, 0.002)
        self.maps = ProbabilityMap(), ProbabilityMap()
        self.of_history = [{} for _ in range(CONTEXTS)]
        self.of_match = [[0.75, 0] for _ in range(32)]
        self.text, self.last_place, self.followers = [], {}, {}

    @staticmethod
    def letter(symbol):
        if symbol == "" or not (symbol >= "\x80" or symbol == "'" or symbol.isascii() and symbol.isalpha()):
            return 0
        return ord(symbol.lower() if symbol.isascii() else symbol)

    # Contexts

    @staticmethod
    def match_place(history):
        value = 0
        for symbol in history.recent:
            value = joined(value, symbol + 1)
        return value % 2**20

    @staticmethod
    def follower_place(history):
        return joined(history.recent[0] + 1, history.recent[1] + 1) % 2**16

    def advance(self, history, symbol):
        if symbol == self.document:
            history.__init__()
            return
        history.recent = [symbol] + history.recent[:-1]
        if self.letters[symbol]:
            history.word = joined(history.word, self.letters[symbol])
        elif history.word:
            history.word_before, history.previous_word, history.word = history.previous_word, history.word, 0
        history.column = 0 if symbol == self.line_end else min(history.column + 1, REACH - 1)
        if 0 <= history.match < len(self.text) - 1 and self.text[history.match] == symbol:
            history.match += 1
            history.matched += 1
            return
        history.match, history.matched = -1, 0
        if history.recent[-1] >= 0:
            place = self.last_place.get(self.match_place(history), -1)
            if ORDERS <= place < len(self.text) and self.text[place - ORDERS : place][::-1] == history.recent:
                history.match, history.matched = place, ORDERS

    def history_of(self, ids):
        history = History()
        for symbol in ids[-REACH:]:
            self.advance(history, symbol)
        return history

    def place_of(self, history):
        keys = [0]
        for symbol in history.recent:
            keys.append(joined(keys[-1], symbol + 1))
        last = history.recent[0] + 1
        word = history.word or last
        keys += [word, joined(word, history.previous_word), joined(word, history.word_before), joined(last, history.column)]
        keys.append(joined(keys[2], self.followers.get(self.follower_place(history), 0)))
        place = Place()
        place.keys = [joined(key, i + 1) for i, key in enumerate(keys)]
        place.last = history.recent[0]
        place.expected = self.text[history.match] if history.match >= 0 else -1
        place.matched = min(history.matched, 31)
        return place

    @staticmethod
    def match_class(place):
        return min(15, 1 + (place.matched - ORDERS) // 2)

    # Decisions

    def estimate(self, context, state):
        return self.of_history[context].setdefault(state, [(state[1] + 0.4) / (state[0] + state[1] + 0.8), 0])

    def decide(self, place, node, known):
        """`known`: contexts that saw the decision before."""
        decision = Decision()
        decision.keys = [joined(key, node) for key in place.keys]
        decision.seen = [self.table.find(key) if context in known else None for context, key in enumerate(decision.keys)]
        decision.known, decision.inputs, pattern, longest, bits_of_longest = set(), [], 0, 0, 0
        for context, seen in enumerate(decision.seen):
            kind, inputs = 0, [0.0, 0.0]
            if seen is not None and seen[2] > 0:
                decision.known.add(context)
                _, p, bits, state = seen
                inputs = [stretch((math.floor(q) + 0.5) / 4096) for q in (self.estimate(context, state)[0] * 4096, p // 16)]
                kind = 1 if state[0] and state[1] else 2
                if context <= ORDERS:
                    longest, bits_of_longest = context, min(3, bits)
            if 2 <= context <= ORDERS:
                pattern = 3 * pattern + kind
            decision.inputs += inputs
        decision.expected = dict(self.paths[place.expected]).get(node) if place.expected >= 0 else None
        p = self.of_match[place.matched][0]
        sign = 0 if decision.expected is None else 2 * decision.expected - 1
        decision.inputs += [sign * stretch(p), sign * (2 * p - 1), 0.3]
        match_class = 0 if decision.expected is None else self.match_class(place)
        decision.mixed = self.mixer.mix(decision.inputs, (node, match_class, place.last + 1, 4 * longest + bits_of_longest, pattern))
        logit = decision.mixed[0]
        contexts = ((place.last + 1) * self.nodes + node) % 2**16, joined(place.keys[2], node) % 2**16
        decision.points = [one.point(context, logit) for one, context in zip(self.maps, contexts)]
        corrected = ProbabilityMap.at(decision.points[0]) + ProbabilityMap.at(decision.points[1])
        decision.p = clamp(0.5 * squash(logit) + 0.25 * corrected, 1e-6, 1 - 1e-6)
        return decision

    def learn(self, place, decision, bit):
        def towards(estimate, came, most, least, largest):
            estimate[1] = min(estimate[1] + 1, most)
            estimate[0] = clamp(estimate[0] + (came - estimate[0]) / (estimate[1] + 1.5), least, largest)

        self.mixer.learn(decision.inputs, decision.mixed, bit)
        for point in decision.points:
            ProbabilityMap.learn(point, bit)
        for context in range(CONTEXTS):
            seen = decision.seen[context]
            if seen is None:
                seen = self.table.find(decision.keys[context], add=True)
            towards(self.estimate(context, seen[3]), bit, 1000, 1e-4, 1 - 1e-4)
            seen[3] = BitHistory.after(seen[3], bit)
            seen[1] += int((65535 - seen[1] if bit else -seen[1]) / (seen[2] + 1.6))
            seen[2] = min(250, seen[2] + 1)
        if decision.expected is not None:
            towards(self.of_match[place.matched], decision.expected == bit, 500, 0.02, 0.9998)

    def count(self, history, symbol):
        place = self.follower_place(history)
        self.followers[place] = (self.followers.get(place, 0) << 32 | symbol + 1) & MASK
        self.advance(history, symbol)
        self.text.append(symbol)
        if history.recent[-1] >= 0:
            self.last_place[self.match_place(history)] = len(self.text)

    def loss(self, history, symbol, learn):
        place, known, loss = self.place_of(history), set(range(CONTEXTS)), 0.0
        for node, bit in self.paths[symbol]:
            decision = self.decide(place, node, known)
            known = decision.known
            loss -= math.log(decision.p if bit else 1 - decision.p)
            if learn:
                self.learn(place, decision, bit)
        self.go_on(history, symbol, learn)
        return loss

    def go_on(self, history, symbol, learn):
        if learn:
            self.count(history, symbol)
        else:
            self.advance(history, symbol)


class Mixture:
    def __init__(self, network, counts, weights):
        """network(id, position in the window): float32 logits. `weights`: of the network, of the counts."""
        self.network, self.counts = network, counts
        self.mixer = Mixer([0.0] * (2 * CONTEXTS + 3) + [weights[1], weights[0]], 0.003, 0.0005)

    @staticmethod
    def probabilities(logits):
        top = max(logits)
        exponentials = [math.exp(logit - top) for logit in logits]
        total = 0.0
        for e in exponentials:
            total += e
        return [e / total * (1 - 1e-6 * len(logits)) + 1e-6 for e in exponentials]

    @staticmethod
    def network_logit(paths, probabilities, symbol, depth):
        """Of the decision that a symbol takes at some depth of the tree."""
        here = [v for v, path in enumerate(paths) if path[:depth] == paths[symbol][:depth]]
        ones = sum(probabilities[v] for v in here if paths[v][depth][1])
        return stretch(clamp(ones / sum(probabilities[v] for v in here), 1e-6, 1 - 1e-6))

    def loss(self, logits, history, symbol, learn):
        counts, probabilities = self.counts, self.probabilities(logits)
        largest = max(probabilities)
        favourite = probabilities.index(largest)
        place, known, loss, reached = counts.place_of(history), set(range(CONTEXTS)), 0.0, 1.0
        for depth, (node, bit) in enumerate(counts.paths[symbol]):
            network = self.network_logit(counts.paths, probabilities, symbol, depth)
            decision = counts.decide(place, node, known)
            known = decision.known
            of_counts = stretch(decision.p)
            inputs = decision.inputs + [of_counts, network]
            steps = [min(11, int(abs(logit) * 1.5)) for logit in (network, of_counts)]
            match_class = 0 if decision.expected is None else counts.match_class(place)
            chosen = (node, match_class, place.last + 1, 12 * steps[0] + steps[1], 4 * favourite + min(3, int(4 * largest)))
            mixed = self.mixer.mix(inputs, chosen)
            p = clamp(squash(mixed[0]), 1e-6, 1 - 1e-6) if reached >= 1e-3 else squash(network)
            reached *= p if bit else 1 - p
            loss -= math.log(p if bit else 1 - p)
            if learn:
                self.mixer.learn(inputs, mixed, bit)
                counts.learn(place, decision, bit)
        counts.go_on(history, symbol, learn)
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
    symbols = sorted(set(train + text)) + [""] * lines
    to_ids = {symbol: i for i, symbol in enumerate(symbols)}
    if lines:  # the line's end is the document's end
        del symbols[0]
        to_ids = {symbol: i for i, symbol in enumerate(symbols)} | {"\n": len(symbols) - 1}
    train_ids, ids = ([to_ids[symbol] for symbol in part] for part in (train, text))
    frequencies = [train_ids.count(v) for v in range(len(symbols))]
    counts = Counts(symbols, frequencies, len(train_ids))
    history = History()
    case = {"train": train, "text": text, "documents": lines, "window": window, "weights": {"network": weights[0], "counts": weights[1]}}
    case["train_losses"] = [counts.loss(history, symbol, learn=True) for symbol in train_ids]
    history = counts.history_of(ids[:1])
    case["losses"] = [counts.loss(history, symbol, learn=False) for symbol in ids[1:]]
    for name, learn in (("mixture_losses", False), ("adaptive_losses", True)):
        mixture = Mixture(logits_of(len(symbols)), counts, weights)
        case[name] = mixture.losses(ids, window, learn)
    return case


def weights_case(text, window=16):
    """Weights of network and counts, learned on the last twentieth of a text by counts that leave it out."""
    symbols = sorted(set(text))
    ids = [symbols.index(symbol) for symbol in text]
    network = logits_of(len(symbols))
    first = len(ids) - len(ids) // 20
    counts, history = Counts(symbols, [ids.count(v) for v in range(len(symbols))], len(ids)), History()
    for symbol in ids[:first]:
        counts.loss(history, symbol, learn=True)
    # Newton's method on the logistic loss, a step for each decision, with the Hessian so far.
    w, hessian, losses = [0.5, 0.5], [10.0, 0.0, 10.0], [0.0, 0.0, 0.0]
    targets = len(ids) - 1 - first
    for start in range(first, first + targets, window):
        history = counts.history_of(ids[:start])
        for t in range(min(window, first + targets - start)):
            counts.advance(history, ids[start + t])
            symbol, probabilities = ids[start + t + 1], Mixture.probabilities(network(ids[start + t], t))
            place, known = counts.place_of(history), set(range(CONTEXTS))
            for depth, (node, bit) in enumerate(counts.paths[symbol]):
                decision = counts.decide(place, node, known)
                known = decision.known
                x = Mixture.network_logit(counts.paths, probabilities, symbol, depth), stretch(decision.p)
                p = squash(w[0] * x[0] + w[1] * x[1])
                for i, q in enumerate((squash(x[0]), squash(x[1]), p)):
                    losses[i] -= math.log(q if bit else 1 - q)
                for i, product in enumerate((x[0] * x[0], x[0] * x[1], x[1] * x[1])):
                    hessian[i] += p * (1 - p) * product
                gradient = (p - bit) * x[0], (p - bit) * x[1]
                determinant = hessian[0] * hessian[2] - hessian[1] ** 2
                w[0] -= (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant
                w[1] -= (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant
    if w[0] > 0.5:
        w = [0.5, 0.5]
    losses = dict(zip(("network_loss", "counts_loss", "mixture_loss"), (loss / targets for loss in losses)))
    return {"text": text, "window": window, "tokens": targets, "network": w[0], "counts": w[1]} | losses


def figures():
    text = (ROOT / "data/sample.txt").read_text(encoding="utf-8")
    # The parts of `text` after the first stand in `train` too, and are found as matches.
    return {"logits": FORMULA, "cases": [
        case_of(text[:1700] + text[200:500], text[1700:2000] + "#\n" + text[900:1000] + text[1800:2000], lines=False),
        case_of(text[3000:3600] + text[3100:3300], text[3400:3700] + text[3000:3100], lines=True)],
        "weights": weights_case(text[:10_400])}  # fmt: skip


if __name__ == "__main__":
    sys.exit(keep_or_check(__doc__, lambda: {"counts.json": figures()}, limit=lambda *_: 1e-9))
