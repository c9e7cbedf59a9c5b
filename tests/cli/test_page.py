"""The page: its JavaScript computes what the program computes, and a browser shows it."""

import base64
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest

from browser import Browser, is_there
from checkpoints import checkpoint, rewrite, weights
from program import SAMPLE_TEXT, TEXT, ProgramTest, data_of, metrics

NODE = shutil.which("node") or shutil.which("nodejs")
SMALL = ["--n_layer", "2", "--n_head", "2", "--n_embd", "16", "--block_size", "12", "--dropout", "0"]

# The sample that a page opens with is written, and a character of it looked at.
OPENED = "return chargpt.writing.characters.length > 0 && !chargpt.writing.running && chargpt.writing.chosen >= 0"
needs_node = unittest.skipUnless(NODE, "node is not here")


@needs_node
class PageModelTest(ProgramTest):
    """Every type and option that the program trains."""

    def compare(self, config, *options, rounded=False):
        """The greatest difference of a log-probability from the program's, and what both write; `rounded`: as the page has the weights."""
        self.train("run", config, 30, "--learning_rate", "0.01", *options)
        data = self.page_of("run")
        text = TEXT[5000:5300]
        self.write("text.txt", text)
        symbols = data["model"]["symbols"]
        scored = self.json("score", "run", "text.txt", "--candidates", str(len(symbols)), "--threads", "1")
        block, half = scored["block_size"], max(1, scored["block_size"] // 2)
        ids = [symbols.index(character) for character in text]
        windows, firsts = [], []
        for begin in range(0, len(ids) - 1, half):
            window = ids[begin:begin + block][:len(ids) - 1 - begin]
            first = 0 if begin == 0 else block - half
            if len(window) > first:
                windows.append(window)
                firsts.append(first)
        prompt = text[:10]
        answer = self.page_model(windows, [symbols.index(c) for c in prompt], rounded)
        worst = self.difference(scored["scores"], [row for first, rows in zip(firsts, answer["logits"]) for row in rows[first:]])
        sample = self.json("sample", "run", "--prompt", prompt, "--greedy", "--tokens", "60")["text"]
        return worst, "".join(symbols[id] for id in answer["ids"]), sample

    def difference(self, scores, rows):
        """The greatest of a log-probability from the program's, of each symbol at each place of a text."""
        for place, row in zip(scores, rows, strict=True):
            self.assertEqual(len(place["candidates"]), len(row))
        return max(abs(candidate["log_probability"] - row[candidate["id"]]) for place, row in zip(scores, rows) for candidate in place["candidates"])

    def page_model(self, windows, prompt, rounded=False):
        """What page_model.js makes of the page of `run`."""
        exact = [] if rounded else [checkpoint(self.folder / "run", self.step_of("run", "best"))]
        return json.loads(subprocess.run(
            [NODE, pathlib.Path(__file__).with_name("page_model.js"), self.folder / "run/page.html", *exact], check=True, capture_output=True,
            input=json.dumps({"windows": windows, "prompt": prompt, "tokens": 60}).encode()).stdout)

    def assert_agrees(self, config, *options):
        worst, written, sampled = self.compare(config, *options)
        self.assertLess(worst, 1e-4)
        self.assertEqual(written, sampled)

    def test_the_ladder(self):
        for config in ("bigram", "average", "average-causal", "masked", "attention", "attention-multihead", "transformer", "post-norm"):
            with self.subTest(config):
                self.assert_agrees("ladder/" + config, "--overwrite")

    def test_gpt_2(self):
        self.assert_agrees("nanogpt-cpu", *SMALL, "--bias", "true", "--bias_places", "attention,attention_output,mlp,norm,head")

    def test_a_modern_block_with_convolutions(self):
        self.assert_agrees("default", *SMALL)

    def test_other_options_of_the_block(self):
        for options in (["--activation", "swiglu", "--head_size", "6", "--mlp_size", "20"],
                        ["--activation", "gelu_tanh", "--position", "sinusoidal", "--norm", "none"],
                        ["--activation", "relu", "--position", "none", "--norm_gain", "false"],
                        ["--feed_forward", "false", "--output_projection", "false", "--head_size", "8", "--attention_scale", "width"],
                        ["--conv_places", "attention,mlp", "--conv_width", "3", "--norm_place", "post", "--final_norm", "false"]):
            with self.subTest(options):
                self.assert_agrees("nanogpt-cpu", *SMALL, "--overwrite", *options)

    def test_documents(self):
        words = re.findall(r"\b[a-z]{2,9}\b", TEXT)
        self.train("run", "default", 60, *SMALL, "--documents", "lines", "--learning_rate", "0.01", text="\n".join(words))
        model = self.page_of("run")["model"]
        begin, symbols = model["document"], model["symbols"]
        self.assertEqual((model["start_symbol"], len(symbols)), (begin, begin + 1))
        self.write("some.txt", "\n".join(words[:60]))
        scores = self.json("score", "run", "some.txt", "--candidates", str(len(symbols)), "--threads", "1")["scores"]
        answer = self.page_model([[begin, *(symbols.index(character) for character in word)] for word in words[:60]], [begin, symbols.index(words[0][0])])
        self.check_distributions(scores)
        self.assertLess(self.difference(scores, [row for window in answer["logits"] for row in window]), 1e-4)
        sample = self.json("sample", "run", "--prompt", words[0][0], "--greedy")
        self.assertEqual("".join(symbols[id] for id in answer["ids"]), sample["text"])
        self.assertLess(len(sample["text"]), 60)

    def test_rounded_weights_are_near(self):
        worst, _, _ = self.compare("default", *SMALL, rounded=True)
        self.assertGreater(worst, 0)
        self.assertLess(worst, 0.02)


@needs_node
class PageArithmeticTest(unittest.TestCase):
    """Single functions of model.js, where the smallest case shows a slip."""

    def test_half_precision_sampling_and_the_window(self):
        script = """
          const assert = require("assert"), {Reader, softmax, choose, floatOfHalf} = require(process.argv[1]);
          assert.deepStrictEqual([0, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0x7bff].map(floatOfHalf),
                                 [0, 2 ** -24, -(2 ** -24), 1023 * 2 ** -24, 2 ** -14, 1, 65504]);
          const pick = (logits, settings, at) => choose(logits, {temperature: 1, topK: 0, topP: 1, ...settings}, () => at);
          // e^2 / (1 + e^2) = 0.881 at temperature 0.5, 0.731 at 1
          assert.deepStrictEqual([0.87, 0.89].map((at) => pick([0, 1], {temperature: 0.5}, at)), [1, 0]);
          assert.deepStrictEqual([0, 0.9999].map((at) => pick([0, 1, 2], {topK: 2}, at)), [2, 1]);
          const halves = [Math.log(2), 0, 0];  // 0.5, 0.25, 0.25
          assert.strictEqual(softmax(halves)[0], 0.5);
          assert.deepStrictEqual([0, 0.5, 0.51].map((topP) => pick(halves, {topP}, 0.9999)), [0, 0, 1]);
          assert.deepStrictEqual([0.66, 0.67].map((at) => pick(halves, {topP: 0.51}, at)), [0, 1]);  // of the two that are kept, 2/3 and 1/3
          const kept = (block, position) => {
            const reader = new Reader({config: {block_size: block, position}, projects: true, layers: 0, step: () => ({})});
            for (let id = 0; id <= block; ++id) reader.read(id);
            return [reader.ids.length, reader.position];
          };
          assert.deepStrictEqual([31, 32].map((block) => kept(block, "learned")), [[31, 31], [17, 17]]);  // below 32 all but the oldest
          // Where a position says no more than how far apart tokens are, the oldest may go.
          assert.deepStrictEqual(["sinusoidal", "rope", "none"].map((position) => kept(32, position)), [[17, 17], [32, 33], [32, 33]]);
        """
        model = pathlib.Path(__file__).parents[2] / "src/page/browser/model.js"
        done = subprocess.run([NODE, "-e", script, model], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class PageFileTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run")

    def test_several_runs_stand_beside_each_other_with_what_they_differ_in(self):
        self.train("other", "ladder/bigram", 10)
        self.write("base.json", {"extends": "ladder/bigram", "model": {"rope_base": 5}})  # which has no effect
        self.write("idle.json", {"extends": "base.json"})
        self.train("idle", "idle.json")
        self.train("sees", "ladder/average")
        page = self.json("page", "run", "other", "idle", "sees", "--output", "both.html")["page"]
        runs = data_of(self.folder / page)["runs"]
        self.assertEqual([run["name"] for run in runs], ["run", "other", "idle", "sees (leaks)"])
        self.assertEqual(runs[0]["differs"] + runs[2]["differs"], [])
        self.assertEqual(runs[1]["differs"], ["train.max_iters 20 -> 10"])
        self.assertTrue(self.succeed("page", "run", "other").out.startswith("run/page.html, "))  # by default in the first

    @needs_node
    def test_each_of_many_runs_has_a_line_of_its_own(self):
        drawing = (pathlib.Path(__file__).parents[2] / "src/page/browser/drawing.js").read_text()
        code = drawing + "\nfor (let i = 0; i < 24; ++i) console.log(color(i), dash(i));"
        lines = subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual((len(lines), len(set(lines)), len({line.split()[0] for line in lines})), (24, 24, 6))

    def test_what_the_clock_decided_is_no_difference_of_two_runs(self):
        self.train("timed", "ladder/bigram", 20, "--max_seconds", "600")
        differs = data_of(self.folder / self.json("page", "run", "timed", "--output", "both.html")["page"])["runs"][1]["differs"]
        self.assertEqual([line.split()[0] for line in differs], ["train.max_seconds"])

    def test_a_model_that_is_too_large_is_refused_with_the_way_out(self):
        self.train("large", "ladder/masked", 1, "--n_embd", "65536", "--units", "bytes", "--max_val_tokens", "20", "--batch_size", "1", "--sample_tokens", "1")
        self.assertEqual(self.fail_with(2, "page", "large"), "the model has 34.1M parameters, but a page can contain at most 33.6M; leave them out with --no-model")
        self.assertFalse((self.folder / "large/page.html").exists())
        data = self.page_of("large", "--no-model")
        self.assertIsNone(data["model"])

    def test_what_nests_without_end_is_no_figure(self):
        metrics = self.folder / "run/metrics.jsonl"
        metrics.write_text('{"kind":"plan","step":0,"train_tokens":' + "[" * 400_000 + "]" * 400_000 + "}\n" + metrics.read_text())
        mark = (self.folder / "run/run.json").read_text().rstrip().removesuffix("}")
        self.write("run/run.json", mark + ',"figures":{"baselines":' + '{"a":' * 150_000 + "1" + "}" * 150_002)
        self.assertEqual(self.page_of("run")["runs"][0]["steps"][-1][0], 20)

    def test_samples_and_steps_of_a_long_run_are_evenly_spaced_up_to_the_last(self):
        shutil.rmtree(self.folder / "run/samples")
        for step in range(1, 61):
            self.write(f"run/samples/step-{step:08d}.txt", f"after {step}".ljust(2000))
        self.write("run/samples/notes.txt", "mine")
        (self.folder / "run/samples/step-00000060.txt").unlink()
        (self.folder / "run/samples/step-00000060.txt").symlink_to("notes.txt")
        with open(self.folder / "run/metrics.jsonl", "a", encoding="utf-8") as metrics:
            for step in range(21, 2001):
                metrics.write(json.dumps({"kind": "train", "step": step, "loss": 1}) + "\n")
        self.assertIn("; left out", self.succeed("page", "run").err)
        run = data_of(self.folder / "run/page.html")["runs"][0]
        self.assertEqual(run["samples"], [{"step": step, "text": f"after {step}".ljust(2000)} for step in range(2, 60, 2)])
        self.assertEqual((len(run["steps"]), run["steps"][-1][:3]), (1000, [2000, None, 1]))
        self.write("run/metrics.jsonl", "".join(json.dumps({"kind": "train", "step": step, "loss": 1}) + "\n" for step in range(1, 5001)))
        steps = self.page_of("run")["runs"][0]["steps"]
        self.assertEqual((len(steps), steps[-1][0]), (1000, 5000))

    def test_a_byte_that_is_no_character_has_a_sign_and_the_end_of_a_document_none(self):
        words = "\n".join(re.findall(r"\b[a-z]{2,9}\b", TEXT))
        self.train("bytes", "ladder/bigram", 5, "--units", "bytes", "--documents", "lines", text=words)
        symbols = self.page_of("bytes")["model"]["symbols"]
        self.assertEqual([symbols[id] for id in (97, 200, 256)], ["a", "\ufffd", ""])

    def test_weights_are_the_nearest_numbers_of_half_precision(self):
        run, step, first = self.folder / "run", self.step_of("run", "best"), self.page_of("run")["model"]["tensors"][0]["name"]
        rewrite(checkpoint(run, step), {first: struct.pack("<6f", -3e-5, 3e-5, -1e-7, -0.3, 1e9, -1e9) + weights(run, step)[first][24:]})
        halves = base64.b64decode(self.page_of("run")["model"]["values"])[:12]
        self.assertEqual(halves, struct.pack("<6e", -3e-5, 3e-5, -1e-7, -0.3, 65504, -65504))

    def test_facts_hold_what_the_run_knows(self):
        facts = self.page_of("run")["runs"][0]["facts"]
        self.assertNotIn("", facts.values())
        self.assertEqual([facts[name] for name in ("config", "text", "symbols")], ["ladder/bigram", "sample.txt: 29,049 characters", "69"])
        self.assertRegex(facts["trained to"] + "; " + facts["engine"], r"^step 20 of 20, in [\d.]+ s; cpu, cpu \(\S+\), 1 thread$")

    def test_a_verdict_on_another_checkpoint_is_left_out(self):
        best = self.step_of("run", "best")
        for step, shown in ((best, "It wins."), (best + 1, "")):
            self.set_figures("run", {"checkpoint": {"step": step}, "verdict": ["It wins."]})
            self.assertEqual(self.page_of("run")["verdict"], shown)

    def test_folders_of_texts_and_teachers_are_private(self):
        self.train("teacher", "default", 10, *SMALL)
        self.train("student", "default", 10, *SMALL, "--teacher", "teacher")
        run, html = self.page_of("student")["runs"][0], (self.folder / "student/page.html").read_text()
        for folder in (self.folder, self.folder.resolve(), pathlib.Path(SAMPLE_TEXT).parent):
            self.assertNotIn(str(folder), html)
        self.assertEqual((run["config"]["data"]["text"], run["config"]["train"]["teacher"]), (["sample.txt"], ["teacher"]))

    def test_a_coloured_text_begins_with_its_own_line_end(self):
        self.succeed("score", "run", self.write("text.txt", "\nThe sea"), "--html", "text.html")
        self.assertRegex((self.folder / "text.html").read_text(), r"<pre>\n(<b [^>]*>)?\n")

    def test_texts_are_never_markup(self):
        self.train("run", "ladder/bigram", 10, "--overwrite", text="</script><b>&amp;<!--" * 300)
        html = (self.folder / self.json("page", "run", "--prompt", "</script>")["page"]).read_text()
        self.assertEqual(html.count("</script>"), 4)
        self.assertNotIn("<b>", html)
        self.assertEqual(data_of(self.folder / "run/page.html")["model"]["prompt"], "</script>")


@unittest.skipUnless(is_there(), "chromium with chromedriver is not here")
class BrowserTest(ProgramTest):
    """What a person does: opens the file, types, reads, points."""

    def browser(self, page, opened=OPENED, **options):
        """One that shows a file of the test."""
        browser = Browser(**options)
        self.addCleanup(browser.close)
        browser.open(self.folder / page)
        browser.wait_for(opened)
        return browser

    def seen(self, browser, selector):
        return browser.run(f"return document.querySelector({json.dumps(selector)}).textContent")

    def count(self, browser, selector):
        return browser.run(f"return document.querySelectorAll({json.dumps(selector)}).length")

    def assert_legible(self, browser):
        """Nothing wider than the screen, and no word or number of a table in two lines."""
        self.assertTrue(browser.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
        self.assertEqual(browser.run("""
            const broken = [];
            for (const cell of document.querySelectorAll("td, th, .legend")) {
              const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
              while (walker.nextNode())
                for (const word of walker.currentNode.data.matchAll(/\\S+/g)) {
                  const range = document.createRange();
                  range.setStart(walker.currentNode, word.index);
                  range.setEnd(walker.currentNode, word.index + word[0].length);
                  if (new Set(Array.from(range.getClientRects(), (box) => Math.round(box.top))).size > 1) broken.push(word[0]);
                }
            }
            return broken;"""), [])

    def assert_labels_apart(self, browser):
        """Labels of the baselines overlap neither one another nor the curves."""
        self.assertEqual(browser.run("""
            const svg = document.querySelector("svg"), labels = Array.from(svg.querySelectorAll("text")).filter((one) => / \\d\\.\\d\\d$/.test(one.textContent));
            const boxes = labels.map((one) => one.getBoundingClientRect());
            const right = Math.max(...Array.from(svg.querySelectorAll(".curve"), (one) => one.getBoundingClientRect().right));
            const apart = boxes.every((a, i) => boxes.every((b, j) => i === j || a.bottom <= b.top + 2 || b.bottom <= a.top + 2));
            const inside = boxes.every((box) => box.right <= svg.getBoundingClientRect().right + 1);
            return [labels.length, apart, inside, boxes.every((box) => box.left >= right)];"""), [3, True, True, True])

    def keep_screen(self, browser, name):
        if folder := os.environ.get("CHARGPT_SCREENSHOTS"):
            browser.screenshot(pathlib.Path(folder, name + ".png"))

    def test_a_page_opens_from_disk_and_writes_what_the_program_writes(self):
        self.train("run", "default", 60, *SMALL, "--eval_interval", "20")
        self.succeed("page", "run")
        greedy = self.json("sample", "run", "--prompt", "The sea", "--greedy", "--tokens", "80")["text"]
        browser = self.browser("run/page.html")  # a coloured sample, and what was expected at one of its characters
        self.assertGreater(len(browser.run("return chargpt.writing.prompt.value")), 3)
        self.assertGreater(self.count(browser, ".text span[style*=background]"), 50)
        self.assertEqual(self.count(browser, ".bars .bar"), 10)
        for selector, text in (("textarea", "The sea"), ("label:nth-of-type(1) input", "0")):
            place = browser.element(selector)
            browser.call("POST", place + "/clear", {})
            browser.call("POST", place + "/value", {"text": text})
        browser.run("chargpt.writing.length.value = 80")
        browser.call("POST", browser.element("button.main") + "/click", {})
        browser.wait_for("return !chargpt.writing.running && chargpt.writing.characters.length === 87")
        self.assertEqual(self.seen(browser, ".text"), "The sea" + greedy)
        browser.run("chargpt.writing.look(20)")
        self.assertEqual(self.count(browser, ".bars .bar"), 10)
        self.assertIn("rank 1 of", self.seen(browser, "h3 + .soft"))
        chances = browser.run("return Array.from(document.querySelectorAll('.bars > span:nth-child(3n)'), (one) => parseFloat(one.textContent))")
        self.assertEqual(chances, sorted(chances, reverse=True))
        self.assertEqual(self.seen(browser, ".look"), ("The sea" + greedy)[8:20].replace("\n", "↵\n"))
        chosen = "const heads = document.querySelector('.look').previousSibling; "
        browser.run(chosen + "heads.selectedIndex = 2; heads.dispatchEvent(new Event('change')); chargpt.writing.look(21)")
        self.assertEqual(browser.run(chosen + "return heads.selectedIndex"), 2)
        browser.run("""for (let i = 0; i < 60; ++i) document.querySelector("svg").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}))""")
        losses = [row["loss"] for row in metrics(self.folder / "run", "train")][-2:]  # the mean that smoothing makes of seven
        val_loss = metrics(self.folder / "run", "eval")[-1]["val_loss"]
        self.assertEqual(self.seen(browser, "figcaption"),
                         f"step 60: training loss, smoothed {sum(losses) / 2:.3f} · validation loss {val_loss:.3f}")
        self.assertEqual(browser.run("return ticks(1, 1.0000000000000002, 5).length"), 6)
        one_point = browser.run("return chart({title: 'Loss', xLabel: 'step', yLabel: 'loss', curves: [{name: 'loss', color: 0, points: [[1, 2]]}]}).outerHTML")
        self.assertRegex(one_point, r'"M62\.0 \d')  # at the left
        self.assertNotIn("NaN", one_point)
        browser.run("chargpt.writing.prompt.value = 'The sea and the land'; chargpt.writing.write()")  # longer than the window
        browser.wait_for("return !chargpt.writing.running")
        self.assertTrue(self.seen(browser, ".text").startswith("The sea and the land"))
        for name, value, wanted in (("temperature", "", "temperature is empty; enter a number from 0 to 1000"),
                                    ("topK", "0.5", "top-k (0: all) is 0.5; enter a whole number from 0 to 1000000000"),
                                    ("seed", "4294967296", "seed is 4294967296; enter a whole number from 0 to 4294967295")):
            browser.run(f"chargpt.writing.{name}.value = '{value}'; chargpt.writing.write()")
            self.assertEqual(browser.run("return chargpt.writing.status.textContent"), wanted)
            browser.run(f"chargpt.writing.{name}.value = '1'")
        self.assertEqual(self.count(browser, "svg"), 4)
        self.assertEqual(browser.call("POST", "/se/log", {"type": "browser"}), [])
        for name, width, dark in (("light", 1280, False), ("dark", 1280, True), ("narrow", 390, False)):
            other = self.browser("run/page.html", width=width, dark=dark)
            self.assert_legible(other)
            self.assert_labels_apart(other)
            self.keep_screen(other, name)

    def test_a_model_of_documents_shows_where_they_begin_and_end(self):
        self.train("run", "default", 20, *SMALL, "--documents", "lines", text="\n".join(re.findall(r"\b[a-z]{2,9}\b", TEXT)))
        self.succeed("page", "run", "--prompt", "a")
        browser = self.browser("run/page.html", opened="return chargpt.writing.characters.length > 0 && !chargpt.writing.running")
        browser.run("chargpt.writing.look(0)")
        self.assertEqual(self.seen(browser, ".look"), "·")
        self.assertEqual(browser.run("return shown(chargpt.model.symbols[data.model.document])"), "end of document")

    def test_a_walk_draws_each_number_in_its_colour(self):
        self.train("run")
        self.succeed("explain", "run", "--prompt", "the", "--page", "walk.html")
        browser = self.browser("walk.html", opened="return true")
        self.assertTrue(browser.run("""
            return Array.from(document.querySelectorAll("canvas")).every((canvas) => {
              const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              return atob(canvas.dataset.values).split("").every((char, i) => {
                const value = char.charCodeAt(0) - 128, [red, , blue, alpha] = data.slice(4 * i, 4 * i + 4);
                return alpha === 2 * Math.abs(value) && (alpha < 64 || (red > blue) === (value > 0));
              });
            });"""))
