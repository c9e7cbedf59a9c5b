#!/usr/bin/env python3
"""Exports runs, loads them in the programs that they are for, and compares what these compute with what chargpt does: every symbol's
log-probability at each place of a text, the ids, and greedy text, of transformers also without its cache. Prints a table of the largest
differences; exit status 1 where one is larger than its limit.

    scripts/check/exports.py [--format F] [--text FILE] [--windows N] RUN...

    --format   huggingface (default; needs torch and transformers) or gguf (needs llama-cpp-python)
    --text     a text that the runs know (default data/sample.txt)
    --windows  how many windows of block_size are compared (default 4)

$CHARGPT is the program (default build/chargpt).
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts/python"))

from chargpt import _checkpoint, gguf  # noqa: E402 (found by the line above)

PROGRAM = os.environ.get("CHARGPT", str(SOURCE / "build" / "chargpt"))
GREEDY = 120  # characters
MODULES = tempfile.TemporaryDirectory()  # where transformers copies the code of a folder
LIMIT, LIMIT_OF_TABLE = 1e-4, 1e-2  # of log-probabilities; llama.cpp's gelu is a table of float16


def chargpt(*arguments, text=b""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, stdout=subprocess.PIPE, check=True).stdout


def facts_of(run):
    """Block size, the id that a text starts from, and whether that begins a document, of the run's best checkpoint."""
    checkpoint = _checkpoint.find(run, best=True)
    return checkpoint.model()["block_size"], checkpoint.state["start_symbol"], "document" in checkpoint.vocabulary


def pieces_of(text, block, documents):
    """What fits a window: stretches of the text, or, of a run whose lines are documents, those of its lines that do."""
    if documents:
        return [line for line in text.split("\n") if line.strip() and len(line) < block]
    return [text[begin: begin + block] for begin in range(0, len(text), block)]


def scored(run, piece):
    """Ids, which no command prints: a symbol's is that of its candidate; and log-probabilities by place of the text and id."""
    scores = json.loads(chargpt("score", run, "-", "--json", "--quiet", "--candidates", 1 << 21, text=piece.encode()))["scores"]
    ids = [next(c["id"] for c in one["candidates"] if c["character"] == one["character"]) for one in scores]
    return ids, [[c["log_probability"] for c in sorted(one["candidates"], key=lambda c: c["id"])] for one in scores]


class Transformers:
    """An exported folder as transformers computes it."""

    def __init__(self, path):
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["HF_MODULES_CACHE"] = MODULES.name
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        self.torch = torch
        own_code = (path / "modeling_chargpt.py").exists()
        self.tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=own_code)
        self.model = AutoModelForCausalLM.from_pretrained(path, trust_remote_code=own_code).eval()
        self.name = self.model.config.model_type

    def ids(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False)

    def text(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    def log_probabilities(self, ids):
        with self.torch.no_grad():
            return self.model(self.torch.tensor([ids])).logits[0].double().log_softmax(-1).tolist()

    def greedy(self, prompt, count):
        ids = self.tokenizer(prompt, return_tensors="pt")
        cached, uncached = (self.text(self.model.generate(**ids, max_new_tokens=count, do_sample=False, use_cache=use)[0]) for use in (True, False))
        return cached if cached == uncached else f"with cache {cached!r}, without {uncached!r}"


class LlamaCpp:
    """An exported file as llama.cpp computes it."""

    def __init__(self, path):
        import llama_cpp
        import numpy
        self.numpy = numpy
        self.model = llama_cpp.Llama(str(path), n_ctx=0, logits_all=True, verbose=False, n_gpu_layers=0, type_k=0, type_v=0)  # a cache of float32
        self.name = self.model.metadata["general.architecture"]
        self.begin = [self.model.token_bos()] if self.model.metadata["tokenizer.ggml.add_bos_token"] == "true" else []

    def ids(self, text):
        return self.model.tokenize(text.encode(), add_bos=False, special=True)  # as llama-server reads prompts

    def text(self, ids):
        return self.model.detokenize(list(ids)).decode()

    def log_probabilities(self, ids):
        self.model.reset()
        self.model.eval(ids)
        logits = self.numpy.asarray(self.model.scores[: len(ids)], dtype=float)
        top = logits.max(axis=1, keepdims=True)
        return (logits - top - self.numpy.log(self.numpy.exp(logits - top).sum(axis=1, keepdims=True))).tolist()

    def greedy(self, prompt, count):
        ids = self.begin + self.ids(prompt)
        self.model.reset()
        self.model.eval(ids)
        while count and (token := int(self.numpy.argmax(self.model.scores[len(ids) - 1]))) not in self.begin:
            ids.append(token)
            self.model.eval(ids[-1:])
            count -= 1
        return self.text(ids)


READERS = {"huggingface": (Transformers, ""), "gguf": (LlamaCpp, ".gguf")}


def compare(run, form, text, windows):
    """One row of the table, and whether it holds."""
    block, start, documents = facts_of(run)
    reader, suffix = READERS[form]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / ("model" + suffix)
        if form == "gguf":
            with contextlib.redirect_stdout(sys.stderr):
                gguf.convert(run, str(path))
        else:
            chargpt("export", run, "--out", path, "--quiet")
        theirs = reader(path)
    largest = 0.0
    same_ids = True
    pieces = pieces_of(text, block, documents)
    for piece in pieces[:windows]:
        ids, ours = scored(run, piece)  # from the second character on; of a document all, its end too
        read = theirs.ids(piece)
        begun = [start if documents else read[0], *ids]
        same_ids = same_ids and read == begun[documents:][: len(piece)] and theirs.text(begun[documents:]) == piece
        for our_row, their_row in zip(ours, theirs.log_probabilities(begun[:-1]), strict=True):
            largest = max([largest] + [abs(a - b) for a, b in zip(our_row, their_row, strict=True)])
    prompt = pieces[0][:min(8, block // 2)]
    count = min(GREEDY, block - documents - len(prompt))
    greedy = chargpt("sample", run, "--prompt", prompt, "--tokens", count, "--greedy", "--quiet").decode(errors="replace")
    same_text = greedy.removesuffix("\n") == theirs.greedy(prompt, count).removesuffix("\n")
    row = f"{run:30}  {theirs.name:8}  {largest:18.2e}  {'yes' if same_ids else 'NO':8}  {count if same_text else 'DIFFERS'}"
    return row, largest <= (LIMIT_OF_TABLE if (form, theirs.name) == ("gguf", "gpt2") else LIMIT) and same_ids and same_text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=READERS, default="huggingface")
    parser.add_argument("--text", default=str(SOURCE / "data" / "sample.txt"))
    parser.add_argument("--windows", type=int, default=4)
    parser.add_argument("runs", metavar="RUN", nargs="+")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.text).read_bytes().decode()
    print(f"{'run':30}  {'as':8}  {'largest difference':>18}  {'same ids':8}  equal greedy characters", flush=True)
    held = True
    for run in arguments.runs:
        row, holds = compare(run, arguments.format, text, arguments.windows)
        print(row, flush=True)
        held = held and holds
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
