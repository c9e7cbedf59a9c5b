"""score, attention, explain and audit: what they print, for people and for programs."""

import base64
import math
import os
import pty
import random
import re
import textwrap
from html import unescape

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
        scored = self.json("score", "run", "text.txt", "--candidates", "1000", "--html", "text.html")
        self.check_distributions(scored["scores"])
        for one in scored["scores"]:
            self.assertEqual(one["candidates"], sorted(one["candidates"], key=lambda c: (-c["log_probability"], c["id"])))
        self.assertEqual("".join(one["character"] for one in scored["scores"]), TEXT[1:])
        losses = [one["loss"] for one in scored["scores"]]
        marked = re.findall(r'title="([\d.]+)"', (self.folder / "text.html").read_text())
        self.assertEqual(marked, [f"{loss:.2f}" for loss in losses if loss >= 0.7])
        self.assertAlmostEqual(sum(losses) / len(losses), scored["loss"], places=6)
        half = self.json("eval", "run", "--text", "text.txt", "--stride", scored["block_size"] // 2)
        self.assertAlmostEqual(half["loss"], scored["loss"], places=9)

    def test_the_most_surprising_characters_come_first_after_what_precedes_them(self):
        text = "eQ" + TEXT  # the second is one of them
        self.write("text.txt", text)
        scores = self.json("score", "run", "text.txt", "--candidates", "1")["scores"]
        first = sorted(range(len(scores)), key=lambda i: -scores[i]["loss"])[:5]
        shown = re.findall(r'^ *(\d+\.\d\d)  "(.*)" after "(.*)"$', self.succeed("score", "run", "text.txt").out, re.MULTILINE)
        expected = [(f"{scores[i]['loss']:.2f}", scores[i]["character"], text[max(0, i - 29):i + 1]) for i in first]
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


def visible(symbols):
    return [{" ": "\u2423", "\n": "\u21b5"}.get(symbol, symbol) for symbol in symbols]


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

    def test_a_page_shows_each_matrix_with_its_labels_and_numbers(self):
        for V in (100, 101):  # more symbols have no room above their columns
            symbols = sorted({*program.TEXT, *"<>", *map(chr, range(0x400, 0x464))})[:V]
            self.train("run", "ladder/attention-multihead", 20, "--overwrite", "--n_embd", "100", text=program.TEXT + "a<b>\n" + "".join(symbols))
            self.succeed("explain", "run", "--prompt", "a<b", "--page", "walk.html")
            html = (self.folder / "walk.html").read_text()
            self.assertIn("a&lt;b, walked through", html)
            operations = self.json("explain", "run", "--prompt", "a<b")["operations"]
            html = re.sub(r"<div class=heads>.*?</section>", "", html, flags=re.DOTALL)  # the same weights, of every row
            for table, operation in zip(re.findall("<table>.*</table>", html), operations, strict=True):
                width, height, shown = re.search(r'width=(\d+) height=(\d+) [^>]*data-values="([^"]*)"', table).groups()
                self.assertEqual([int(height), int(width)], operation["shape"])
                rows, columns = (list(map(unescape, re.findall(f"{mark}>(.*?)</", table))) for mark in ("<td class=label", "<span"))
                heads, last = operation["name"].endswith(" of the last token"), operation["name"].startswith("probabilities")
                self.assertEqual(rows, ["head 1", "head 2", "head 3", "head 4"] if heads else ["b"] if last else ["a", "<", "b"])
                self.assertEqual(columns, ["a", "<", "b"] if heads else visible(symbols) if V == 100 and operation["name"].split()[0] in ("logits", "probabilities") else [])
                largest = max(map(abs, operation["values"]))
                for byte, value in zip(base64.b64decode(shown), operation["values"], strict=True):
                    self.assertAlmostEqual(byte - 128, 127 * value / largest, delta=0.51)

    def test_a_page_of_all_layers_draws_the_attention_of_each(self):
        self.train("run", "ladder/transformer", 20, "--n_head", "2", "--block_size", "17")
        for T in (16, 17):  # more characters have no room beside their rows
            self.succeed("explain", "run", "--prompt", TEXT[:T], "--page", "walk.html", "--all")
            drawn = re.findall(r"<div class=heads>.*?</section>", (self.folder / "walk.html").read_text(), re.DOTALL)
            layers = self.json("attention", "run", "--prompt", TEXT[:T])["attention_weights"]
            for html, layer in zip(drawn, layers, strict=True):
                self.assertEqual("<span>" in html, T == 16)
                pictures = re.findall(rf'<p>head (\d+)</p>.*?width={T} height={T} [^>]*data-values="([^"]*)"', html)
                self.assertEqual([int(number) for number, _ in pictures], list(range(1, len(layer) + 1)))
                for (_, picture), head in zip(pictures, layer):
                    weights = [weight for row in head for weight in row]
                    for byte, weight in zip(base64.b64decode(picture), weights, strict=True):
                        self.assertAlmostEqual(byte - 128, 127 * weight / max(weights), delta=0.51)

    def test_the_text_has_the_numbers_of_json(self):
        for text, prompt, *more in (("abcd\n" * 400, "abcdabcd"), (program.TEXT, "the old sea", "--all")):
            self.train("run", "ladder/transformer", 2, "--block_size", "12", "--n_embd", "5", "--n_head", "5", "--overwrite", text=text)
            operations, T, symbols, window = self.walk("run", prompt)[1]["operations"], len(prompt), visible(sorted(set(text))), visible(prompt)
            expected, part = "", None
            for at, one in enumerate(operations):
                layer, name, width = one["layer"], one["name"], one["shape"][1]
                if layer and not more and operations[at + 1]["layer"] == layer:
                    continue  # of a later block its last operation is shown
                if layer != part:
                    others = ", the same operations; --all shows them" if layer and not more else ""
                    expected += "\nafter the last layer\n" if layer is None else f"\nlayer {layer + 1}{others}\n"
                part, row = layer, one["values"][-width:]
                counted = f", {one['parameters']:,} parameters" if one["parameters"] else ""
                expected += f"  {name:<34} {' x '.join(map(str, one['shape']))}{counted}\n    {one['formula']}\n"
                best = sorted(range(width), key=lambda id, row=row: (-row[id], id))[:5]
                if name == "scores of the last token":
                    for head in range(5):
                        cells = [f"  {symbol} {score:+8.3f}" for symbol, score in zip(window, one["values"][head * T:])][-8:]
                        expected += f"    head {head + 1}:{' ...' * (T > 8)}{''.join(cells[:4])}\n           {''.join(cells[4:])}\n"
                elif name == "logits":
                    expected += f"    row {T}, the highest:{''.join(f'  {symbols[id]} {row[id]:+.3f}' for id in best)}\n"
                elif name == "probabilities of the next character":
                    expected += "".join(f"    {symbols[id]} {100 * row[id]:6.1f} %  {round(40 * row[id]) * '█'}\n" for id in best)
                    expected += f"    the other {width - 5} together {100 * (1 - sum(row[id] for id in best)):.1f} %\n" * (width > 5)
                elif name != "weights of the last token":
                    root_mean_square = math.sqrt(sum(value * value for value in row) / width)
                    expected += (f"    row {T}:{''.join(f' {value:+.3f}' for value in row[:5])}{' ...' * (width > 5)}   "
                                 f"root mean square {root_mean_square:.3f}\n")
                if name == "weighted sums":
                    products = [f" {weight:.3f} · {value:+.3f}" for weight, value in zip(operations[at - 1]["values"][:T], operations[at - 3]["values"][::5])]
                    line = f"first number, by head 1: {row[0]:+.3f} ={' +'.join(products[:8])}{' + ...' * (T > 8)}"
                    expected += textwrap.fill(line, 80, initial_indent=4 * " ", subsequent_indent=4 * " ") + "\n"
            shown = self.succeed("explain", "run", "--prompt", prompt, *more).out.split("root mean square.\n\n")[1]
            self.assertEqual(re.sub(r"(?m)^(            \S|    head \d  |    Each head |    weights sum ).*\n", "", shown), expected)

    def test_the_last_numbers_are_what_score_reports(self):
        self.train("run", "default", 20)
        operations = self.json("explain", "run", "--prompt", "\nthe sea")["operations"]
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
        stretch = re.search('samples:\n  "(.*)"\n(?s:.*)It writes text of its own', shown)[1]
        self.assertIn(stretch.replace("\\n", "\n"), program.TEXT)

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
        self.train("run", "ladder/bigram", 2, text=train + train[100:200] + "".join(draw.choices("abcdefghij", k=200)) + train[300:400])
        told = self.json("audit", "run", "--samples", "3", "--tokens", "100")
        self.assertAlmostEqual(told["held_out_copied_share"], 2 / 3)  # its first and last hundred, not the middle one
        self.assertEqual(told["verdict"], "It writes text of its own.")

    def test_a_model_that_has_learned_one_line_by_heart_recites_in_part(self):
        draw = random.Random(1)
        lines = ["".join(draw.choices("0123456789", k=10)) for _ in range(1000)]
        lines[:800:16] = ["".join(map(chr, range(0x100, 0x13C)))] * 50  # each letter says which one follows
        self.train("run", "ladder/bigram", 600, "--learning_rate", "0.005", "--batch_size", "32", "--eval_interval", "100", text="\n".join(lines))
        told = self.json("audit", "run", "--samples", "64")
        self.assertEqual(told["held_out_copied_share"], 0)
        self.assertEqual(told["verdict"], "It recites its training text in part.", told["copied_share"])
