"""score, attention, explain and audit: what they print, for people and for programs."""

import base64
import math
import os
import pty
import random
import re

import program
from program import ProgramTest

TEXT = program.TEXT[3000:3400]


class LookTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "ladder/attention", 60, "--learning_rate", "0.01", "--n_embd", "16", "--n_head", "2")
        self.write("text.txt", TEXT)


class ScoreTest(LookTest):
    def test_every_character_has_its_loss_and_their_mean_is_the_texts(self):
        scored = self.json("score", "run", "text.txt", "--candidates", "1000")
        self.check_distributions(scored["scores"])
        for one in scored["scores"]:
            self.assertEqual(one["candidates"], sorted(one["candidates"], key=lambda c: (-c["log_probability"], c["id"])))
        self.assertEqual("".join(one["character"] for one in scored["scores"]), TEXT[1:])
        losses, groups = [one["loss"] for one in scored["scores"]], scored["by_class"]
        self.assertAlmostEqual(sum(losses) / len(losses), scored["loss"], places=6)
        self.assertEqual(sum(group["characters"] for group in groups), len(losses))
        self.assertAlmostEqual(sum(group["characters"] * group["loss"] for group in groups) / len(losses), scored["loss"], places=5)
        half = self.json("eval", "run", "--text", "text.txt", "--stride", scored["block_size"] // 2)
        self.assertAlmostEqual(half["loss"], scored["loss"], places=9)

    def test_the_most_surprising_characters_come_first_after_what_precedes_them(self):
        scores = self.json("score", "run", "text.txt", "--candidates", "1")["scores"]
        first = sorted(range(len(scores)), key=lambda i: -scores[i]["loss"])[:5]
        shown = re.findall(r'^ *(\d+\.\d\d)  "(.*)" after "(.*)"$', self.succeed("score", "run", "text.txt").out, re.MULTILINE)
        expected = [(f"{scores[i]['loss']:.2f}", scores[i]["character"], TEXT[max(0, i - 29):i + 1]) for i in first]
        self.assertEqual(shown, [tuple(part.replace("\n", "\\n") for part in row) for row in expected])

    def test_the_surprise_of_a_character_is_that_of_all_its_bytes(self):
        text, shown, begin = "μῆνιν", [], 1  # the first byte has no loss
        self.train("bytes", "ladder/bigram", 1, "--units", "bytes", text="μῆνιν ἄειδε θεὰ " * 200)
        losses = self.json("score", "bytes", self.write("greek.txt", text), "--html", "greek.html")["losses"]
        for character in text[1:]:
            end = begin + len(character.encode())
            shown.append((f"{sum(losses[begin:end]):.2f}", character))
            begin = end
        self.assertEqual(re.findall(r'title="([\d.]+)">(\w)</b>', (self.folder / "greek.html").read_text(encoding="utf-8")), shown)


class InteractiveTest(LookTest):
    def test_as_much_is_remembered_as_the_context_holds(self):
        turns = 24
        said = self.succeed("sample", "run", "--interactive", "--tokens", "3", "--seed", "3", stdin=b"a\n" * turns).out
        prompt, answers = "\n", ""
        for seed in range(3, 3 + turns):
            prompt += "a\n"
            answer = self.json("sample", "run", "--prompt", prompt, "--tokens", "3", "--seed", str(seed))["text"]
            prompt += answer
            answers += answer + "\n" * (not answer.endswith("\n"))
        self.assertEqual(said, answers)

    def test_to_complete_goes_on_within_the_line_to_its_end(self):
        complete = ["sample", "run", "--interactive", "complete", "--tokens", "40", "--greedy"]
        said = self.succeed(*complete, stdin=b"the sea\na boat\n").out
        first = self.json("sample", "run", "--prompt", "\nthe sea", "--tokens", "40", "--greedy", "--stop", r"\n")
        second = self.json("sample", "run", "--prompt", first["prompt"] + first["text"] + ("\n" if first["tokens"] < 40 else "") + "a boat",
                           "--tokens", "40", "--greedy", "--stop", r"\n")
        self.assertEqual(said, f"the sea{first['text']}\na boat{second['text']}\n")
        self.assertNotIn("e", self.succeed(*complete, "--stop", "e", stdin=b"the sea\n").out[len("the sea"):])


class AttentionTest(LookTest):
    def test_rows_are_weights_over_what_each_character_sees(self):
        found = self.json("attention", "run", "--prompt", "the sea")
        self.assertEqual(found["symbols"], ["t", "h", "e", "\u2423", "s", "e", "a"])
        self.assertEqual((found["layers"], found["heads"]), (1, 2))
        self.assertTrue(found["checkpoint"]["best"])
        for head in found["attention_weights"][0]:
            for i, row in enumerate(head):
                self.assertAlmostEqual(sum(row), 1, places=5)
                self.assertEqual(row[i + 1:], [0] * (6 - i))


def softmax(scores):
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / sum(weights) for weight in weights]


class ExplainTest(ProgramTest):
    """Each figure from those before it, by arithmetic of the test's own."""

    def walk(self, run, prompt="the sea"):
        found = self.json("explain", run, "--prompt", prompt)
        operations = {}
        for operation in found["operations"]:
            width = operation["shape"][-1]
            rows = [operation["values"][i:i + width] for i in range(0, len(operation["values"]), width)]
            self.assertEqual([len(rows), width], operation["shape"])
            operations.setdefault((operation["layer"], operation["name"]), rows)
        return operations, found

    def assert_close(self, ours, theirs, margin=1e-4):
        self.assertEqual(len(ours), len(theirs))
        for a, b in zip(ours, theirs):
            self.assertAlmostEqual(a, b, delta=margin)

    def test_attention_is_queries_keys_scores_weights_and_sums(self):
        self.train("run", "ladder/attention-multihead", 60, "--learning_rate", "0.01")
        walk, found = self.walk("run")
        queries, keys, values = (walk[0, name] for name in ("queries", "keys", "values"))
        scores, weights, heads = walk[0, "scores of the last token"], walk[0, "weights of the last token"], walk[0, "weighted sums"]
        hs = len(queries[0]) // len(scores)
        for head, (of_head, row) in enumerate(zip(scores, weights)):
            part = slice(head * hs, (head + 1) * hs)
            self.assert_close(of_head, [sum(a * b for a, b in zip(queries[-1][part], key[part])) / math.sqrt(hs) for key in keys])
            self.assert_close(row, softmax(of_head))
            self.assert_close(heads[-1][part], [sum(w * value[part][i] for w, value in zip(row, values)) for i in range(hs)])
        self.assert_close(walk[None, "input of the first block"][3],
                          [a + b for a, b in zip(walk[None, "token embedding"][3], walk[None, "position embedding"][3])])
        self.assert_close(walk[None, "probabilities of the next character"][0], softmax(walk[None, "logits"][-1]))
        self.assertEqual(sum(operation["parameters"] for operation in found["operations"]), self.json("inspect", "run")["parameters"])
        attention = self.json("attention", "run", "--prompt", "the sea")["attention_weights"]
        for head, row in enumerate(weights):
            self.assert_close(row, attention[0][head][-1])

    def test_weights_stand_under_the_characters_that_they_belong_to(self):
        self.train("run", "ladder/attention", 2, "--block_size", "60")
        for prompt, first in (("the sea", "the\u2423sea"), (TEXT[:60], TEXT[12:60].replace(" ", "\u2423").replace("\n", "\u21b5"))):
            lines = self.succeed("explain", "run", "--prompt", prompt).out.splitlines()
            at = next(i for i, line in enumerate(lines) if line.startswith("    head 1  ") and " % to " in line)
            self.assertEqual(lines[at - 1], " " * 12 + first)
            bars = lines[at][12:12 + len(first)]
            self.assertRegex(lines[at][12 + len(first):], r"^  [0-9.]+ % to ")
            self.assertIn("█", bars)
            self.assertLessEqual(len(lines[at]), 80)

    def test_the_parameters_of_all_operations_are_the_model_s(self):
        for config in ("ladder/bigram", "ladder/masked", "ladder/post-norm", "default", "quick"):
            with self.subTest(config):
                self.train("run", config, 2, "--overwrite")
                operations = self.json("explain", "run", "--prompt", "the")["operations"]
                self.assertEqual(sum(operation["parameters"] for operation in operations), self.json("inspect", "run")["parameters"])

    def test_a_page_shows_each_matrix_and_its_numbers(self):
        self.train("run", "ladder/attention-multihead", 20, text=program.TEXT + "a<b>\n")
        self.succeed("explain", "run", "--prompt", "a<b", "--page", "walk.html")
        html = (self.folder / "walk.html").read_text()
        self.assertIn("a&lt;b, walked through", html)
        self.assertIn("<span>a</span><span>&lt;</span><span>b</span>", html)  # above a score for each
        operations = self.json("explain", "run", "--prompt", "a<b")["operations"]
        html = re.sub(r"<div class=heads>.*?</section>", "", html, flags=re.DOTALL)  # the same weights, of every row
        pictures = re.findall(r'width=(\d+) height=(\d+) [^>]*data-values="([^"]*)"', html)
        self.assertEqual(len(pictures), len(operations))
        for (width, height, shown), operation in zip(pictures, operations):
            self.assertEqual([int(height), int(width)], operation["shape"])
            largest = max(map(abs, operation["values"]))
            for byte, value in zip(base64.b64decode(shown), operation["values"], strict=True):
                self.assertAlmostEqual(byte - 128, 127 * value / largest, delta=0.51)
        self.succeed("explain", "run", "--prompt", "a<b", "--page", "walk.html")
        self.write("mine.html", "mine")
        self.assertIn("mine.html exists and was not written by chargpt", self.fail_with(75, "explain", "run", "--prompt", "a", "--page", "mine.html"))

    def test_a_page_of_all_layers_draws_the_attention_of_each(self):
        self.train("run", "ladder/transformer", 20)
        self.succeed("explain", "run", "--prompt", "the sea", "--page", "walk.html", "--all")
        drawn = re.findall(r"<div class=heads>.*?</section>", (self.folder / "walk.html").read_text(), re.DOTALL)
        layers = self.json("attention", "run", "--prompt", "the sea")["attention_weights"]
        self.assertEqual(len(drawn), len(layers))
        for html, layer in zip(drawn, layers):
            pictures = re.findall(r'<p>head (\d+)</p>.*?width=7 height=7 [^>]*data-values="([^"]*)"', html)
            self.assertEqual([int(number) for number, _ in pictures], list(range(1, len(layer) + 1)))
            for (_, picture), head in zip(pictures, layer):
                weights = [weight for row in head for weight in row]
                for byte, weight in zip(base64.b64decode(picture), weights, strict=True):
                    self.assertAlmostEqual(byte - 128, 127 * weight / max(weights), delta=0.51)

    def test_the_last_numbers_are_what_score_reports(self):
        self.train("run", "default", 20)
        prompt = "\nthe sea"
        operations = self.json("explain", "run", "--prompt", prompt)["operations"]
        row = operations[0]["values"][-operations[0]["shape"][-1]:]
        root_mean_square = math.sqrt(sum(value * value for value in row) / len(row))
        self.assertEqual(re.search(r"root mean square (\d.*)", self.succeed("explain", "run", "--prompt", prompt).out)[1], f"{root_mean_square:.3f}")
        best = self.json("score", "run", "-", "--candidates", "1", stdin=b"\nthe sea.")["scores"][-1]["candidates"][0]
        self.assertAlmostEqual(max(operations[-1]["values"]), math.exp(best["log_probability"]), places=5)


class AuditTest(ProgramTest):
    def test_a_model_that_has_memorized_its_text_is_told_from_one_that_has_not(self):
        text = program.TEXT[:1500]
        shape = ["--n_layer", "2", "--n_embd", "64", "--block_size", "32", "--dropout", "0", "--eval_interval", "1000", "--sample_tokens", "0"]
        self.train("parrot", "default", 600, "--max_epochs", "0", *shape, text=text)
        recites = self.json("audit", "parrot", "--checkpoint", "last", "--samples", "4", "--tokens", "400")
        self.assertGreater(recites["copied_share"], 0.5)
        self.assertIn("It mostly recites", recites["verdict"])
        self.assertGreater(recites["val_loss"] - recites["train_loss"], 1)
        place = recites["longest"]["place"]
        self.assertEqual(text[place:place + recites["longest"]["characters"]], recites["longest"]["text"])

        self.train("healthy", "default", 100, *shape)
        shown = self.succeed("audit", "healthy", "--samples", "4", "--tokens", "400").out
        self.assertIn("It writes text of its own", shown)

    def test_work_of_more_than_two_seconds_says_how_far_it_is(self):
        self.train("run", "ladder/bigram", 5)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.started("audit", "run", "--samples", "1000", "--tokens", "40000", stderr=theirs)
        os.close(theirs)
        shown = b""
        while not re.search(rb"\rchargpt: writing samples: \d\d %\x1b\[K", shown):
            shown += os.read(ours, 65536)

    def test_held_out_text_is_taken_from_all_of_its_split(self):
        draw = random.Random(1)
        train = "".join(draw.choices("abcdefghij", k=3600))
        self.train("run", "ladder/bigram", 2, text=train + "".join(draw.choices("abcdefghij", k=200)) + train[100:300])
        told = self.json("audit", "run", "--samples", "2", "--tokens", "100")
        self.assertEqual(told["held_out_copied_share"], 0.5)  # its first and its last hundred

    def test_a_model_that_has_learned_one_line_by_heart_recites_in_part(self):
        draw = random.Random(1)
        lines = ["".join(draw.choices("0123456789", k=10)) for _ in range(1000)]
        lines[:800:16] = ["".join(map(chr, range(0x100, 0x13C)))] * 50  # each letter says which one follows
        self.train("run", "ladder/bigram", 600, "--learning_rate", "0.005", "--batch_size", "32", "--eval_interval", "100", text="\n".join(lines))
        told = self.json("audit", "run", "--samples", "64")
        self.assertEqual(told["held_out_copied_share"], 0)
        self.assertEqual(told["verdict"], "It recites its training text in part.", told["copied_share"])
