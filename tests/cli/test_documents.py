"""Training on a list of documents: how it is split, sampled, scored and resumed."""

import json
import math
import random

from program import ProgramTest

OWN = ["--n_layer", "1", "--n_embd", "16", "--n_head", "2", "--block_size", "16", "--batch_size", "16", "--sample_tokens", "0", "--eval_interval", "1000"]


class DocumentsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        self.names = sorted({"".join(draw.choice("bcdfgklmnprst") + draw.choice("aeiou") for _ in range(draw.choice((1, 2, 3)))) for _ in range(1500)})
        self.write("names.txt", "\n".join(self.names) + "\n")

    def trained(self, run, *arguments, text="names.txt", iters=60):
        return self.succeed("train", "quick", "--text", text, "--documents", "lines", "--run", run, "--max_iters", str(iters), *OWN, *arguments)

    def test_new_documents_are_the_same_in_json(self):
        self.trained("run", "--windows", "shuffled", iters=300)
        new = self.succeed("sample", "run", "--num-samples", "20", "--new").out.splitlines()
        objects = [json.loads(line) for line in self.succeed("sample", "run", "--num-samples", "3", "--new", "--json").out.splitlines()]
        self.assertEqual([one["text"] for one in objects], new[:3])
        self.assertEqual([one["tokens"] for one in objects], [len(name) for name in new[:3]])  # without the ends of the documents

    def test_a_prompt_begins_a_document_whichever_command_shows_it(self):
        self.trained("run")
        walk = self.json("explain", "run", "--prompt", "ka")
        self.assertEqual(walk["symbols"], ["·", "k", "a"])
        self.assertEqual(self.json("attention", "run", "--prompt", "ka")["symbols"], walk["symbols"])
        best = self.json("score", "run", "-", "--candidates", "1", stdin=b"kat")["scores"][2]["candidates"][0]
        self.assertAlmostEqual(max(walk["operations"][-1]["values"]), math.exp(best["log_probability"]), places=5)

    def test_each_line_of_a_conversation_begins_a_document(self):
        self.trained("run")
        said = self.succeed("sample", "run", "--interactive", "--seed", "3", stdin=b"ka\n" * 3).out
        alone = [self.json("sample", "run", "--prompt", "ka", "--seed", str(seed))["text"] for seed in (3, 4, 5)]
        self.assertEqual(said.splitlines(), alone)

    def test_score_of_a_text_is_evals_of_its_documents(self):
        self.trained("run")
        self.write("some.txt", "kata\nmi\n")
        self.write("reversed.txt", "mi\r\nkata\r\n")
        scored = self.json("score", "run", "some.txt", "--candidates", "1")
        self.assertEqual([one["character"] for one in scored["scores"]], list("kata") + [""] + list("mi") + [""])
        for text in ("some.txt", "reversed.txt"):
            self.assertAlmostEqual(self.json("eval", "run", "--text", text)["loss"], scored["loss"], places=5)

    def test_documents_that_stand_in_both_splits_alike_are_not_recited(self):
        first, last = (list(map(chr, range(begin, begin + 40))) for begin in (0x100, 0x200))
        triples = "\n".join(a + vowel + b for a in first for vowel in "aeiou" for b in last)  # all that the pairs in them allow
        self.train("run", "ladder/bigram", 400, "--documents", "lines", "--val_fraction", "0.3", "--learning_rate", "0.01", "--batch_size", "32",
                   "--eval_interval", "100", text=triples)
        told = self.json("audit", "run", "--samples", "2000")
        self.assertGreater(told["documents"]["in_train"], 1000)
        self.assertEqual(told["verdict"], "It writes text of its own.")

    def test_documents_that_are_known_by_heart_are_recited_however_short(self):
        self.train("run", "ladder/bigram", 200, "--documents", "lines", "--learning_rate", "0.1", "--batch_size", "32", "--eval_interval", "100",
                   text="\n".join(chr(0x100 + i) + chr(0x200 + i) for i in range(60)))
        told = self.json("audit", "run", "--samples", "50")
        self.assertEqual((told["copied_share"], told["verdict"]), (0, "It mostly recites its training text."))

    def test_as_many_held_out_documents_are_compared_as_were_sampled(self):
        draw = random.Random(5)
        common = "".join(draw.choices("abcdefgh", k=36))
        alike = [common + a + b for a in "abcdefgh" for b in "abcd"]
        others = ["".join(draw.choices("abcdefgh", k=39)) for _ in alike]
        self.write("lines.txt", "\n".join(alike + others) + "\n")
        self.trained("run", "--val_fraction", "0.5", text="lines.txt", iters=2)
        held_out = "".join(one["character"] or "\n" for one in self.json("score", "run", "--candidates", "1")["scores"]).splitlines()
        copied = [line.startswith(common) for line in held_out]
        first = copied.index(not copied[0])  # documents, all of which stand in the train split to their 36th character, or none
        for samples, share in ((first, copied[0]), (first + 1, sum(copied[:first + 1]) / (first + 1))):
            told = self.json("audit", "run", "--samples", samples, "--tokens", "36")
            self.assertAlmostEqual(told["held_out_copied_share"], share)
        self.assertEqual(told["held_out_longest"], 36)

    def test_audit_says_how_many_documents_are_new_of_those_that_sample_writes(self):
        self.trained("run", "--windows", "shuffled", iters=200)
        told = self.json("audit", "run")["documents"]
        written = self.succeed("sample", "run", "--num-samples", "400", "--tokens", "1000", "--temperature", "0.8", "--top_k", "0").out.splitlines()
        held_out = "".join(one["character"] or "\n" for one in self.json("score", "run", "--candidates", "1")["scores"]).splitlines()
        known, in_held_out = (sum(name in names for name in written) for names in (self.names, held_out))
        self.assertEqual(told, {"written": 400, "in_train": known - in_held_out, "in_held_out": in_held_out, "new": 400 - known})
        self.assertGreater(told["in_train"], told["in_held_out"])
        self.assertIn(self.json("bench", "sample", "run", "--batch", "20", "--tokens", "200", "--repeats", "1")["written"], range(40, 20 * 30))
