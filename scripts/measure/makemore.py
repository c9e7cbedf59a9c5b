#!/usr/bin/env python3
"""The preset `names` beside makemore's default transformer on the same list: both train on nine tenths of the lines, drawn at random with equal lines
on the same side, and score the last tenth, which neither has seen. Needs PyTorch and makemore.py (github.com/karpathy/makemore).

    scripts/measure/makemore.py MAKEMORE.PY NAMES.TXT [--threads N] [--steps N]... [--seed N]...

Losses are nats per character, the end of each name included; seconds are those of the whole training; new: samples that are in neither part."""

import argparse
import importlib.util
import pathlib
import random
import tempfile
import time

import torch

from workbench import Program

SAMPLES = 1000


def parts(path):
    """Lines to train on and lines to score."""
    lines = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    different = sorted(set(lines))
    random.Random(1).shuffle(different)
    scored = set(different[:len(different) // 10])
    return [line for line in lines if line not in scored], [line for line in lines if line in scored]


def share_of_new(samples, known):
    return sum(sample not in known for sample in samples) / len(samples)


def row(what, seconds, loss, new):
    print(f"{what:<44}{seconds:>9.1f}{loss:>9.4f}{100 * new:>8.1f} %", flush=True)


def of_chargpt(folder, train, test, seed, threads):
    (folder / "train.txt").write_text("\n".join(train) + "\n")
    (folder / "test.txt").write_text("\n".join(test) + "\n")
    program, run, options = Program(), folder / "run", ["--threads", threads]
    begin = time.monotonic()
    program.run("train", "names", "--text", folder / "train.txt", "--run", run, "--seed", seed, "--overwrite", "--quiet", *options)
    seconds = time.monotonic() - begin
    loss = program.json("eval", run, "--text", folder / "test.txt", *options)["loss"]
    samples = program.run("sample", run, "--num-samples", SAMPLES, "--temperature", "1", "--seed", "1", *options).splitlines()
    row(f"chargpt train names, seed {seed}", seconds, loss, share_of_new(samples, {*train, *test}))


def of_makemore(makemore, train, test, steps):
    """Its model, loader and optimizer at their defaults; no worker processes, which cost more than they save here."""
    torch.manual_seed(3407)
    chars, longest = sorted(set("".join(train + test))), max(map(len, train + test))
    train_set, test_set = (makemore.CharDataset(words, chars, longest) for words in (train, test))
    model = makemore.Transformer(makemore.ModelConfig(vocab_size=train_set.get_vocab_size(), block_size=train_set.get_output_length()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01, betas=(0.9, 0.99), eps=1e-8)
    loader = makemore.InfiniteDataLoader(train_set, batch_size=32, num_workers=0)
    done, seconds = 0, 0.0
    for until in steps:
        begin = time.monotonic()
        for _ in range(until - done):
            _, loss = model(*loader.next())
            model.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        seconds += time.monotonic() - begin
        done = until
        row(f"makemore, {done:,} steps", seconds, *scored(makemore, model, train_set, test_set))


@torch.inference_mode()
def scored(makemore, model, train_set, test_set):
    """Loss over all characters of the test set, share of new samples."""
    model.eval()
    total, count = 0.0, 0
    for X, Y in torch.utils.data.DataLoader(test_set, batch_size=500):
        total += model(X, Y)[1].item() * (Y >= 0).sum().item()
        count += (Y >= 0).sum().item()
    rows = makemore.generate(model, torch.zeros(SAMPLES, 1, dtype=torch.long), train_set.max_word_length, do_sample=True)[:, 1:].tolist()
    samples = [train_set.decode(row[:row.index(0)] if 0 in row else row) for row in rows]
    model.train()
    return total / count, share_of_new(samples, {*train_set.words, *test_set.words})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("makemore", type=pathlib.Path)
    parser.add_argument("names", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, action="append", help="of makemore; may be repeated, rising (default 1,000 and 5,000)")
    parser.add_argument("--seed", type=int, action="append", help="of chargpt; may be repeated (default 1337)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    spec = importlib.util.spec_from_file_location("makemore", options.makemore)
    makemore = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(makemore)
    train, test = parts(options.names)
    print(f"{len(train):,} lines to train on, {len(test):,} to score; threads: {options.threads}")
    print(f"{'':<44}{'seconds':>9}{'loss':>9}{'new':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for seed in options.seed or [1337]:
            of_chargpt(pathlib.Path(folder), train, test, seed, options.threads)
    of_makemore(makemore, train, test, options.steps or [1000, 5000])


if __name__ == "__main__":
    main()
