#!/usr/bin/env python3
"""Replays, in PyTorch, the training notebook behind the ladder of teaching models, with its own random stream.

One CPU generator (seed 1337) is drawn from in the notebook's order: a batch of 4, the bigram model and 100 sampled
characters; then, per model, the initial weights, two runs of 1000 steps (each with a new AdamW) and a sample; at last the
small attention example and the transformer. Every draw counts, so nothing may be left out or moved.

    scripts/reference/replay.py            writes tests/golden/replay.json (half a minute)
    scripts/reference/replay.py --check    replays again and compares with that file; exit status 1 where they differ

The tests in tests/seed compare the program's models, optimizer and engine with that file. Needs torch and the text.
"""

import argparse
import math
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from golden import ROOT, check, tinyshakespeare, write

TEXT = ROOT / "data" / "tinyshakespeare.txt"

BLOCK_SIZE = 8
N_EMBD = 64
BATCH_SIZE = 128
STEPS_PER_RUN = 1000
STORED_LOSSES = 100
TRANSFORMER_LOSSES = 20
TOLERANCE = 1e-4  # of a single loss between two machines, over the stored steps
FINAL_TOLERANCE = 5e-3  # after 2000 steps, where rounding has had time to grow


class Bigram(nn.Module):
    """Logits of the next character from the current one alone."""

    def __init__(self, vocab_size):
        super().__init__()
        self.token = nn.Embedding(vocab_size, N_EMBD)
        self.head = nn.Linear(N_EMBD, vocab_size)

    def forward(self, ids):
        return self.head(self.token(ids))


class Average(Bigram):
    """Every position sees the mean of the whole window, its own target included."""

    def forward(self, ids):
        mean = self.token(ids).mean(dim=1, keepdim=True)  # (B, 1, C)
        return self.head(mean.expand(-1, ids.shape[1], -1))


class Masked(nn.Module):
    """Unscaled causal attention of the embeddings to themselves."""

    def __init__(self, vocab_size):
        super().__init__()
        self.token = nn.Embedding(vocab_size, N_EMBD)
        self.position = nn.Embedding(BLOCK_SIZE, N_EMBD)
        self.unused = nn.Linear(N_EMBD, BLOCK_SIZE)  # never called, but drawn from the stream
        self.head = nn.Linear(N_EMBD, vocab_size)

    def forward(self, ids):
        t = ids.shape[1]
        h = self.token(ids) + self.position(torch.arange(t))  # (B, T, C)
        return self.head(causal_softmax(h @ h.transpose(-2, -1)) @ h)


class Attention(nn.Module):
    """One head of full width, no output projection."""

    def __init__(self):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(N_EMBD, N_EMBD, bias=False) for _ in range(3))

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * N_EMBD**-0.5
        return causal_softmax(scores) @ self.value(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.feed_forward = nn.Sequential(nn.Linear(N_EMBD, 4 * N_EMBD), nn.ReLU(), nn.Linear(4 * N_EMBD, N_EMBD))
        self.norm1 = nn.LayerNorm(N_EMBD)
        self.norm2 = nn.LayerNorm(N_EMBD)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Transformer(nn.Module):
    """Three pre-norm blocks; no final norm, no tied weights."""

    def __init__(self, vocab_size):
        super().__init__()
        self.token = nn.Embedding(vocab_size, N_EMBD)
        self.position = nn.Embedding(BLOCK_SIZE, N_EMBD)
        self.blocks = nn.Sequential(Block(), Block(), Block())
        self.head = nn.Linear(N_EMBD, vocab_size)

    def forward(self, ids):
        h = self.token(ids) + self.position(torch.arange(ids.shape[1]))
        return self.head(self.blocks(h))


def causal_softmax(scores):
    t = scores.shape[-1]
    return scores.masked_fill(torch.ones(t, t).tril() == 0, -math.inf).softmax(dim=-1)


class Notebook:
    """The text as ids and the drawing of batches; all draws come from PyTorch's default CPU generator."""

    def __init__(self, text):
        self.symbols = sorted(set(text))
        ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        data = torch.tensor([ids[symbol] for symbol in text])
        self.train = data[: int(0.9 * len(data))]

    @property
    def vocab_size(self):
        return len(self.symbols)

    def decode(self, ids):
        return "".join(self.symbols[i] for i in ids)

    def batch(self, batch_size):
        offsets = torch.randint(len(self.train) - BLOCK_SIZE, (batch_size,))
        x, y = (torch.stack([self.train[o + shift : o + shift + BLOCK_SIZE] for o in offsets]) for shift in (0, 1))
        return offsets, x, y

    def loss(self, model, x, y):
        return F.cross_entropy(model(x).view(-1, self.vocab_size), y.view(-1))

    def run(self, model, steps):
        """Losses of `steps` steps with a new AdamW, each taken before its update."""
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        losses = []
        for _ in range(steps):
            _, x, y = self.batch(BATCH_SIZE)
            loss = self.loss(model, x, y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    @torch.no_grad()
    def sample(self, model, count, context):
        ids = torch.zeros((1, 1), dtype=torch.long)
        for _ in range(count):
            logits = model(ids[:, -context:])[:, -1]
            ids = torch.cat([ids, torch.multinomial(logits.softmax(dim=-1), 1)], dim=1)
        return ids[0].tolist()


def two_runs(notebook, model, sample_tokens):
    first = notebook.run(model, STEPS_PER_RUN)
    second = notebook.run(model, STEPS_PER_RUN)
    notebook.sample(model, sample_tokens, BLOCK_SIZE)
    return {"first_losses": first[:STORED_LOSSES], "loss_after_run_1": first[-1], "loss_after_run_2": second[-1]}


def replay(text):
    notebook = Notebook(text)
    torch.manual_seed(1337)
    offsets, x, y = notebook.batch(4)
    bigram = Bigram(notebook.vocab_size)
    with torch.no_grad():
        untrained_loss = notebook.loss(bigram, x, y).item()
    untrained_sample = notebook.decode(notebook.sample(bigram, 100, context=1))
    result = {
        "torch": torch.__version__.split("+")[0],
        "seed": 1337,
        "batch_offsets": offsets.tolist(),
        "untrained_loss": untrained_loss,
        "untrained_sample": untrained_sample,
        "S10": two_runs(notebook, bigram, 500),
        "S11": two_runs(notebook, Average(notebook.vocab_size), 50),
        "S12": two_runs(notebook, Masked(notebook.vocab_size), 500),
    }
    query, key, value = (nn.Linear(2, 2) for _ in range(3))
    result["small_attention"] = {
        name: {"weight": layer.weight.tolist(), "bias": layer.bias.tolist()}
        for name, layer in (("query", query), ("key", key), ("value", value))
    }
    result["small_attention"]["inputs"] = torch.randn(4, 2).tolist()
    losses = notebook.run(Transformer(notebook.vocab_size), TRANSFORMER_LOSSES)
    result["S14"] = {"first_loss": losses[0], "first_losses": losses}
    return result


def limit(path, _):
    return FINAL_TOLERANCE if "after_run" in path else TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the stored file instead of writing it")
    parser.add_argument("--text", type=Path, default=TEXT, help="tinyshakespeare (default: data/tinyshakespeare.txt)")
    arguments = parser.parse_args()
    if arguments.check:
        tinyshakespeare("reference_replay")
    if not arguments.text.exists():
        sys.exit(f"replay.py: {arguments.text} is not there; get the text first (see data/) or give --text")
    torch.set_num_threads(1)
    documents = {"replay.json": replay(arguments.text.read_text(encoding="utf-8"))}
    return check(documents, limit) if arguments.check else write(documents)


if __name__ == "__main__":
    sys.exit(main())
