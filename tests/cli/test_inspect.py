"""inspect: what a config changes and what a text is made of, for people and for programs."""

from program import SAMPLE_TEXT, TEXT, ProgramTest


class ConfigTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", {"data": {"text": SAMPLE_TEXT}, "model": {"n_layer": 2}, "train": {
            "groups": [{"match": "wte|" + "a-very-long-name-of-a-parameter-" * 4, "learning_rate": 0.5}]}})

    def test_what_differs_comes_first_with_its_help_and_the_rest_when_asked(self):
        shown = self.succeed("inspect", "mine.json").out
        self.assertIn("model.n_layer = 2 (default 4, from mine.json:1)\n    transformer blocks (L)\n", shown)
        self.assertNotIn("model.n_head", shown)
        self.assertRegex(shown, r"\d+ other options are at their defaults; --all shows them\n$")
        everything = self.succeed("inspect", "mine.json", "--all").out
        self.assertRegex(everything, r"\nmodel\.n_head +4 +attention heads \(nh\)\n")
        self.assertLess(everything.index("model.n_layer = 2"), everything.index("model.n_head"))

    def test_parameters_are_those_of_its_text_or_of_a_usual_one(self):
        told = self.json("inspect", "mine.json")
        self.train("run", "mine.json", 1)
        self.assertEqual(told["parameters"], self.json("inspect", "run")["parameters"])
        self.assertEqual((told["symbols"], told["symbols_from"]), (69, "text"))
        self.write("lost.json", '{"data": {"text": "lost.txt"}}')
        self.assertEqual(self.json("inspect", "lost.json")["symbols_from"], "assumed")
        self.assertIn("if its text has 65 symbols", self.succeed("inspect", "lost.json").out)
        for text in (SAMPLE_TEXT, "lost.txt"):
            self.write("bytes.json", {"data": {"text": text, "units": "bytes", "documents": "lines"}})
            told = self.json("inspect", "bytes.json")
            self.assertEqual((told["symbols"], told["symbols_from"]), (257, "text"))  # the end of a document is one; there are no other bytes

    def test_how_often_a_text_is_read_in_so_many_seconds_is_not_guessed(self):
        for train, known in (({}, True), ({"max_seconds": 60}, False)):
            self.write("timed.json", {"extends": "nanogpt-cpu", "data": {"text": SAMPLE_TEXT}, "train": train})
            self.assertEqual(self.json("inspect", "timed.json")["text"]["epochs"] is not None, known)
            self.assertEqual("\nepochs " in self.succeed("inspect", "timed.json").out, known)

    def test_each_group_of_parameters_has_its_rate_and_decay(self):
        self.assertRegex(self.succeed("inspect", "quick").out, r"\nwte\|lm_head +8,320 +adamw +0\.02 +0\.1\n")
        told = self.json("inspect", "mine.json")
        self.assertEqual([(group["group"][:8], group["learning_rate"], group["weight_decay"]) for group in told["parameter_groups"]],
                         [("wte|a-ve", 0.5, 0.1), ("decay", 1e-3, 0.1), ("no_decay", 1e-3, 0)])
        self.assertEqual(sum(group["parameters"] for group in told["parameter_groups"]), told["parameters"])
        self.train("run", "mine.json", 1, "--learning_rate", "1e-2")
        self.assertEqual([group["learning_rate"] for group in self.json("inspect", "run")["parameter_groups"]], [0.5, 1e-2, 1e-2])

    def test_json_has_every_value_whole(self):
        told = self.json("inspect", "mine.json")
        differing = {one["option"]: one for one in told["differs_from_defaults"]}
        self.assertEqual(set(differing), {"data.text", "model.n_layer", "train.groups"})
        self.assertEqual((differing["model.n_layer"]["value"], differing["model.n_layer"]["default"]), (2, 4))
        self.assertEqual(differing["train.groups"]["value"][0]["match"], "wte|" + "a-very-long-name-of-a-parameter-" * 4)
        self.assertEqual([told["origin"][option] for option in ("model.n_layer", "model.n_head")], ["mine.json:1", "default"])
        self.assertEqual(told["config"]["model"]["n_layer"], 2)

    def test_it_fits_its_terminal(self):
        for what in (["mine.json"], ["mine.json", "--all"], ["five-minutes", "--all"], [SAMPLE_TEXT]):
            for columns in (60, 80, 120):
                self.fitting_lines(columns, "inspect", *what)


class TextTest(ProgramTest):
    def test_symbols_are_counted_and_the_invisible_ones_named(self):
        text = "a a\tb\n" * 20 + "\u00a0\n"
        self.write("text.txt", text)
        told = self.json("inspect", "text.txt")
        counts = {row["symbol"]: row["count"] for row in told["symbol_counts"]}
        self.assertEqual(counts, {symbol: text.count(symbol) for symbol in set(text)})
        names = {row["code_point"]: row.get("name") for row in told["symbol_counts"]}
        self.assertEqual((names["U+0020"], names["U+0009"], names["U+000A"], names["U+00A0"], names["U+0061"]),
                         ("space", "tab", "line feed", "no-break space", None))
        self.assertRegex(self.succeed("inspect", "text.txt").out, r"U\+0020 +space +20 +16\.4 %")

    def test_rare_symbols_are_listed_when_asked(self):
        self.assertIn("and 57 rarer symbols; --all lists them", self.succeed("inspect", SAMPLE_TEXT).out)
        self.assertEqual(self.succeed("inspect", SAMPLE_TEXT, "--all").out.count("U+00"), 69)
        self.assertNotIn("rarer", self.succeed("inspect", self.write("twelve.txt", "abcdefghijkl" * 9)).out)
        self.assertIn("and 1 rarer symbol;", self.succeed("inspect", self.write("thirteen.txt", "abcdefghijklm" * 9)).out)

    def test_line_ends_and_lines(self):
        for content, ends, lines in (("a\nb\n", "LF", 2), ("a\r\nb\r\nc", "CRLF", 3), ("a\r\nb\n", "mixed: 1 LF, 1 CRLF", 2), ("ab", "none", 1), ("a\rb\r", "CR", 2)):
            told = self.json("inspect", self.write("text.txt", content))
            self.assertEqual((told["line_ends"], told["lines"]), (ends, lines))

    def test_a_held_out_part_that_differs_is_told(self):
        names = sorted({a + b + c for a in "bcdfghjklmnprst" for b in ("an", "e", "illo", "ar", "uni") for c in ("ra", "sto", "l", "ndi", "ka", "m")})
        self.write("names.txt", "".join(name + "\n" for name in names for _ in range(8)))
        told = self.json("inspect", "names.txt")
        self.assertTrue(told["split_check"]["differs"] and told["split_check"]["sorted"])
        self.assertIn("the lines are sorted", told["notices"][-1])
        self.assertIn("--documents lines", self.succeed("inspect", "names.txt").out)
        sample = self.json("inspect", SAMPLE_TEXT)
        self.assertFalse(sample["split_check"]["differs"])
        self.assertEqual([], sample["notices"])

    def test_baselines_are_those_of_eval_and_shared_text_is_told(self):
        told = self.json("inspect", SAMPLE_TEXT)
        self.train("run", "ladder/bigram", 1)
        baselines = self.json("eval", "run")["baselines"]
        for name in ("uniform", "unigram", "bigram", "trigram", "gzip", "xz"):
            self.assertAlmostEqual(told["baselines"][name], baselines[name], places=9)
        self.assertEqual(told["val_tokens_in_train"], 0)
        part = TEXT[:2000]
        self.write("twice.txt", part + part[:222])
        self.assertGreater(self.json("inspect", "twice.txt")["val_tokens_in_train"], 200)
        self.assertRegex(self.succeed("inspect", "twice.txt").out.replace("\n", " "), r"\d+\.\d % of these also appear in the train split")

    def test_a_text_too_short_to_split_is_described_without_baselines(self):
        self.write("text.txt", "abc\n")
        self.assertIsNone(self.json("inspect", "text.txt")["baselines"])
        self.assertIn("4 (4 different)", self.succeed("inspect", "text.txt").out)
