"""--json of every command against one table of keys, tests/json_keys.txt."""

import json

from program import QUICK, SAMPLE_TEXT, SOURCE, ProgramTest

TYPES = {"number": (int, float), "whole": (int,), "flag": (bool,), "text": (str,)}


def leaves(value, key=""):
    """(key, value) of all that is no object; what is by the names of a config's options is left out."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("origin", "differences") and not (name == "config" and isinstance(inner, dict)):
                yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in value or [None]:
            yield from leaves(inner, key)
    else:
        yield key, value


class JsonTest(ProgramTest):
    def commands(self):
        yield from (("eval", "r"), ("eval", "r", "q", "--counts", "--adapt"), ("score", "r", "--candidates", "2"), ("sample", "r", "--tokens", "5"))
        yield from (("audit", "r", "--samples", "2", "--tokens", "50"), ("attention", "r", "--prompt", "The"), ("explain", "r", "--prompt", "The"))
        yield from (("inspect", "r"), ("inspect", "r", "q"), ("inspect", "default"), ("inspect", SAMPLE_TEXT), ("runs", "."), ("configs",), ("doctor",))
        yield from (("compare", "r", "q"), ("bench", "sample", "r", "--repeats", "1"), ("reproduce", "q"), ("page", "r"))
        yield "bench", "train", "quick", "--text", SAMPLE_TEXT, "--steps", "2", "--warmup", "0"
        yield "compare", "ladder", "--text", SAMPLE_TEXT, "--max_iters", "2", "--out", "ladder"
        yield "compare", "quick", "--text", SAMPLE_TEXT, "--max_iters", "2", "--vary", "n_embd=8,16", "--vary", "n_head=1,2", "--seeds", "2", "--target", "9", "--out", "o"
        yield "export", "r", "--format", "safetensors", "--out", "x.safetensors"

    def test_a_key_means_the_same_in_every_command(self):
        table = {}
        for line in (SOURCE / "tests/json_keys.txt").read_text().splitlines()[1:]:
            kind, keys = line.split(", ", 1)
            for key in keys.split(": ")[1].split():
                self.assertNotIn(key, table)
                table[key] = TYPES[kind]
        seen = {key for key, _ in leaves(self.json("train", "default", "--run", "r", "--text", SAMPLE_TEXT, "--ema", "0.9", "--max_iters", "20", *QUICK[2:]))}
        self.succeed("train", "default", "--run", "q", "--text", SAMPLE_TEXT, "--seed", "7", "--max_iters", "20", *QUICK[2:])
        for words in self.commands():
            for key, value in leaves(json.loads(self.succeed(*words, "--json", "--quiet").out)):
                seen.add(key)
                if value is not None:
                    self.assertIsInstance(value, table.get(key, ()), (words, key))
                    self.assertEqual(isinstance(value, bool), bool in table[key], (words, key))
        self.assertEqual(set(table) - seen, set())
