#!/usr/bin/env python3
"""Our PyTorch peer: milliseconds per training step of nanogpt-cpu, eager, alone or alternating with the program.

The step is nanoGPT's: draw a batch of windows, forward, backward, clip, AdamW (fused, decay on matrices only), zero the gradients.
Logging and evaluation are off, as in `chargpt bench train`.

    scripts/bench_pytorch.py [--threads N] [--warmup 20] [--steps 200]     prints one JSON object
    scripts/bench_pytorch.py --against build/chargpt [--pairs 5]           alternates A B B A with `chargpt bench train nanogpt-cpu`

The second form reports the median of each and of the paired ratios (PyTorch's time over ours: above 1, ours is faster), with the smallest
and the largest ratio: on a shared machine they say how far to trust the median. Needs torch (PYTHONPATH=.libtorch) and the text.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIG = "nanogpt-cpu"
N_LAYER, N_HEAD, N_EMBD, BLOCK_SIZE, BATCH_SIZE = 4, 4, 128, 64, 12
MAX_ITERS, WARMUP_ITERS, LEARNING_RATE, MIN_LR = 2000, 100, 1e-3, 1e-4
BETAS, WEIGHT_DECAY, GRAD_CLIP, SEED = (0.9, 0.99), 0.1, 1.0, 1337


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = (nn.LayerNorm(N_EMBD, bias=False) for _ in range(2))
        self.c_attn = nn.Linear(N_EMBD, 3 * N_EMBD, bias=False)
        self.c_proj = nn.Linear(N_EMBD, N_EMBD, bias=False)
        self.c_fc = nn.Linear(N_EMBD, 4 * N_EMBD, bias=False)
        self.mlp_proj = nn.Linear(4 * N_EMBD, N_EMBD, bias=False)

    def forward(self, x):  # (B, T, C) -> (B, T, C)
        B, T, C = x.shape
        q, k, v = (part.view(B, T, N_HEAD, C // N_HEAD).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).split(C, dim=2))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, nh, T, hs)
        x = x + self.c_proj(heads.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, N_EMBD)
        self.wpe = nn.Embedding(BLOCK_SIZE, N_EMBD)
        self.blocks = nn.ModuleList(Block() for _ in range(N_LAYER))
        self.ln_f = nn.LayerNorm(N_EMBD, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                residual = name.endswith("_proj.weight")
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * N_LAYER) if residual else 0.02)

    def forward(self, ids, targets):  # (B, T), (B, T) -> scalar
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)  # tied head, (B, T, V)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def adamw(model):
    weights = list(model.parameters())
    groups = [{"params": [w for w in weights if w.dim() >= 2], "weight_decay": WEIGHT_DECAY},
              {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=BETAS, fused=True)


def learning_rate_at(step):
    if step < WARMUP_ITERS:
        return LEARNING_RATE * (step + 1) / (WARMUP_ITERS + 1)
    progress = min(1.0, (step - WARMUP_ITERS) / (MAX_ITERS - WARMUP_ITERS))
    return MIN_LR + 0.5 * (1 + math.cos(math.pi * progress)) * (LEARNING_RATE - MIN_LR)


def train_ids(path):
    text = path.read_text(encoding="utf-8")
    symbols = sorted(set(text))
    id_of = {symbol: i for i, symbol in enumerate(symbols)}
    return torch.tensor([id_of[symbol] for symbol in text[:int(0.9 * len(text))]]), len(symbols)


def milliseconds_per_step(path, warmup, steps):
    """One figure per measured step, and the last loss."""
    torch.manual_seed(SEED)
    ids, vocab_size = train_ids(path)
    model = GPT(vocab_size)
    optimizer = adamw(model)
    times = []
    for step in range(warmup + steps):
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate_at(step)
        starts = torch.randint(len(ids) - BLOCK_SIZE, (BATCH_SIZE,)).tolist()
        inputs = torch.stack([ids[i:i + BLOCK_SIZE] for i in starts])
        targets = torch.stack([ids[i + 1:i + 1 + BLOCK_SIZE] for i in starts])
        loss = model(inputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), GRAD_CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(1e3 * (time.perf_counter() - begin))
    return times[warmup:], loss.item()


def quantiles(times):
    ordered = sorted(times)
    at = lambda part: round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3)
    return {"median": at(0.5), "p10": at(0.1), "p90": at(0.9)}


def ours(program, threads):
    command = [program, "bench", "train", CONFIG, "--json"] + (["--threads", str(threads)] if threads else [])
    process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        sys.exit(f"bench_pytorch: {' '.join(command)} ended with {process.returncode}")
    return json.loads(process.stdout)["ms_per_step"]["median"]


def compare(arguments):
    """A B B A, each in a process of its own; ratios pair neighbours."""
    own = [sys.executable, __file__, "--warmup", str(arguments.warmup), "--steps", str(arguments.steps), "--text", str(arguments.text)]
    own += ["--threads", str(arguments.threads)] if arguments.threads else []

    def theirs():
        return json.loads(subprocess.run(own, stdout=subprocess.PIPE, text=True, check=True).stdout)["ms_per_step"]["median"]

    program = str(pathlib.Path(arguments.against).resolve())
    peer, mine = [], []
    for pair in range(arguments.pairs):
        turns = [(theirs, peer), (lambda: ours(program, arguments.threads), mine)]
        for measure, figures in turns if pair % 2 == 0 else reversed(turns):
            figures.append(measure())
    ratios = [p / m for p, m in zip(peer, mine)]
    return {"config": CONFIG, "pytorch_ms": round(statistics.median(peer), 3), "chargpt_ms": round(statistics.median(mine), 3),
            "ratio": {"median": round(statistics.median(ratios), 3), "lowest": round(min(ratios), 3), "highest": round(max(ratios), 3)},
            "pairs": arguments.pairs, "threads": arguments.threads or torch.get_num_threads(), "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's own choice")
    parser.add_argument("--warmup", type=int, default=20, help="steps that are not measured")
    parser.add_argument("--steps", type=int, default=200, help="steps that are measured")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "data" / "tinyshakespeare.txt")
    parser.add_argument("--against", metavar="PROGRAM", help="alternate with this chargpt")
    parser.add_argument("--pairs", type=int, default=5, help="with --against: how many pairs")
    arguments = parser.parse_args()
    if arguments.against:
        print(json.dumps(compare(arguments)))
        return
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    times, loss = milliseconds_per_step(arguments.text, arguments.warmup, arguments.steps)
    print(json.dumps({"ms_per_step": quantiles(times), "tokens_per_second": round(BATCH_SIZE * BLOCK_SIZE / (statistics.median(times) / 1e3)),
                      "last_loss": round(loss, 4), "engine": "pytorch eager", "threads": torch.get_num_threads(), "config": CONFIG,
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
