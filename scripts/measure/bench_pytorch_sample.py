#!/usr/bin/env python3
"""Our PyTorch peer of sampling: characters a second of a trained run, written as nanoGPT's generate does, alternating with the program.

nanoGPT's way: the last block_size tokens through the whole model for each character, the head on the last position alone, temperature,
top-k, softmax, one draw. Batches are that many samples at once. The weights are the run's best checkpoint's, and before anything is
measured the greedy text of both must be the same.

    scripts/measure/bench_pytorch_sample.py RUN --against build/chargpt [--batch 1 64] [--tokens 500] [--pairs 5] [--threads N] [--context full]

prints one JSON object: characters a second of each (medians), and the median, the smallest and the largest ratio of neighbours in A B B A
(above 1, ours is faster). Needs torch (PYTHONPATH=.libtorch) and a run of what nanoGPT can express: gpt with learned positions, layernorm,
gelu, pre-norm and a tied head.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import torch
from torch.nn import functional as F

from bench_pytorch import ratios_of, read_checkpoint
from workbench import Program, in_turns

TEMPERATURE, TOP_K, SEED = 0.8, 200, 1337


class Model:
    """nanoGPT's forward on a state_dict of its names."""

    def __init__(self, checkpoint):
        config, vocabulary, self.weights = read_checkpoint(checkpoint)
        config = config["model"]
        for key, wanted in {"type": "gpt", "position": "learned", "norm": "layernorm", "norm_place": "pre", "activation": "gelu",
                            "tie_weights": True, "qk_norm": False}.items():
            if config.get(key, wanted) != wanted:
                sys.exit(f"bench_pytorch_sample.py: model.{key} = {config[key]} is nothing that nanoGPT has")
        self.n_head, self.block_size = config["n_head"], config["block_size"]
        self.layers = sum(name.endswith("attn.c_attn.weight") for name in self.weights)
        self.symbols = vocabulary["symbols"]

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.weights[name + ".weight"], self.weights.get(name + ".bias"), 1e-5)

    def __call__(self, ids):  # (B, T) -> (B, V), of the last position
        B, T = ids.shape
        x = F.embedding(ids, self.weights["transformer.wte.weight"]) + self.weights["transformer.wpe.weight"][:T]
        for layer in range(self.layers):
            name = f"transformer.h.{layer}."
            q, k, v = (part.view(B, T, self.n_head, -1).transpose(1, 2)
                       for part in self.linear(self.norm(x, name + "ln_1"), name + "attn.c_attn").chunk(3, dim=2))
            heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, nh, T, hs)
            x = x + self.linear(heads.transpose(1, 2).reshape(B, T, -1), name + "attn.c_proj")
            x = x + self.linear(F.gelu(self.linear(self.norm(x, name + "ln_2"), name + "mlp.c_fc")), name + "mlp.c_proj")
        return F.linear(self.norm(x[:, -1], "transformer.ln_f"), self.weights["transformer.wte.weight"])


@torch.no_grad()
def generate(model, ids, tokens, greedy=False):  # (B, T) -> (B, T + tokens)
    for _ in range(tokens):
        logits = model(ids[:, -model.block_size:])
        if greedy:
            chosen = logits.argmax(dim=1, keepdim=True)
        else:
            logits = logits / TEMPERATURE
            least = torch.topk(logits, min(TOP_K, logits.size(-1))).values[:, [-1]]
            logits[logits < least] = -float("inf")
            chosen = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
        ids = torch.cat((ids, chosen), dim=1)
    return ids


def check_same_text(model, program, run, tokens=300):
    """Greedy, from a prompt of one symbol that is no newline, so that both print it."""
    prompt = max(symbol for symbol in model.symbols if symbol.isascii() and symbol.isalpha())
    theirs = generate(model, torch.tensor([[model.symbols.index(prompt)]]), tokens, greedy=True)[0].tolist()
    expected = "".join(model.symbols[i] for i in theirs)
    ours = program.run("sample", run, "--prompt", prompt, "--greedy", "--tokens", tokens, "--num_samples", 1, "--context", "full", "--quiet")
    if ours.removesuffix("\n") != expected:
        sys.exit(f"bench_pytorch_sample.py: the greedy texts differ:\n{ours}\n---\n{expected}")


def characters_per_second(model, batch, tokens, start):
    begin = time.perf_counter()
    generate(model, torch.full((batch, 1), start), tokens)
    return batch * tokens / (time.perf_counter() - begin)


def compare(model, program, run, arguments, batch):
    start = model.symbols.index("\n") if "\n" in model.symbols else 0
    peer_tokens = min(arguments.tokens, arguments.peer_tokens)
    threads = ["--threads", arguments.threads] if arguments.threads else []

    def theirs():
        return characters_per_second(model, batch, peer_tokens, start)

    def ours():
        return program.json("bench", "sample", run, "--batch", batch, "--tokens", arguments.tokens, "--temperature", TEMPERATURE,
                            "--top_k", TOP_K, "--context", arguments.context, *threads)["tokens_per_second"]

    theirs()  # warm
    peer, mine = in_turns(arguments.pairs, theirs, ours)
    return {"batch": batch, "pytorch": round(statistics.median(peer)), "chargpt": round(statistics.median(mine)),
            "ratio": ratios_of(mine, peer)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--against", metavar="PROGRAM", default="build/chargpt")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--peer-tokens", type=int, default=500, help="at most so many by PyTorch, whose rate hardly depends on it")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: each one's own choice")
    parser.add_argument("--context", default="full", choices=["full", "half"])
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(SEED)
    program, run = Program(pathlib.Path(arguments.against).resolve()), pathlib.Path(arguments.run).resolve()
    model = Model(pathlib.Path(program.json("inspect", run, "--checkpoint", "best")["path"]))
    check_same_text(model, program, run)
    print(json.dumps({"run": arguments.run, "tokens": arguments.tokens, "context": arguments.context, "pairs": arguments.pairs,
                      "threads": arguments.threads or torch.get_num_threads(), "torch": torch.__version__,
                      "results": [compare(model, program, run, arguments, batch) for batch in arguments.batch]}))


if __name__ == "__main__":
    main()
