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
        told = self.succeed("inspect", "mine.json", "--json").json
        self.train("run", "mine.json", 1)
        self.assertEqual(told["parameters"], self.succeed("inspect", "run", "--json").json["parameters"])
        self.assertEqual((told["symbols"], told["symbols_from"]), (69, "text"))
        self.write("lost.json", '{"data": {"text": "lost.txt"}}')
        self.assertEqual(self.succeed("inspect", "lost.json", "--json").json["symbols_from"], "assumed")
        self.assertIn("if its text has 65 symbols", self.succeed("inspect", "lost.json").out)
        for text in (SAMPLE_TEXT, "lost.txt"):
            self.write("bytes.json", {"data": {"text": text, "units": "bytes", "documents": "lines"}})
            self.assertEqual(self.succeed("inspect", "bytes.json", "--json").json["symbols"], 257)  # the end of a document is one

    def test_each_group_of_parameters_has_its_rate_and_decay(self):
        self.assertRegex(self.succeed("inspect", "quick").out, r"\nwte\|lm_head +8,320 +adamw +0\.02 +0\.1\n")
        told = self.succeed("inspect", "mine.json", "--json").json
        self.assertEqual([(group["group"][:8], group["learning_rate"], group["weight_decay"]) for group in told["parameter_groups"]],
                         [("wte|a-ve", 0.5, 0.1), ("decay", 1e-3, 0.1), ("no_decay", 1e-3, 0)])
        self.assertEqual(sum(group["parameters"] for group in told["parameter_groups"]), told["parameters"])
        self.train("run", "mine.json", 1, "--learning_rate", "1e-2")
        run = self.succeed("inspect", "run", "--json").json["parameter_groups"]
        self.assertEqual([group["learning_rate"] for group in run], [0.5, 1e-2, 1e-2])

    def test_json_has_every_value_whole(self):
        told = self.succeed("inspect", "mine.json", "--json").json
        differing = {one["option"]: one for one in told["differs_from_defaults"]}
        self.assertEqual(set(differing), {"data.text", "model.n_layer", "train.groups"})
        self.assertEqual((differing["model.n_layer"]["value"], differing["model.n_layer"]["default"]), (2, 4))
        self.assertEqual(differing["train.groups"]["value"][0]["match"], "wte|" + "a-very-long-name-of-a-parameter-" * 4)
        self.assertEqual(told["origin"]["model.n_head"], "default")

    def test_it_fits_its_terminal(self):
        for what in (["mine.json"], ["mine.json", "--all"], ["five-minutes", "--all"], [SAMPLE_TEXT]):
            for columns in (60, 80, 120):
                self.fitting_lines(columns, "inspect", *what)


class DifferencesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("long", "ladder/bigram", 60)
        self.train("short", "ladder/bigram", 20)

    def test_two_runs_are_told_apart_by_what_is_not_the_same(self):
        told = self.succeed("inspect", "long", "short", "--json").json
        self.assertEqual(told["differences"], [{"option": "train.max_iters", "values": [60, 20]}])
        self.assertEqual([run["step"] for run in told["runs"]], [60, 20])
        self.assertEqual(told["runs"][0]["best_val_loss"], self.succeed("inspect", "long", "--json").json["best_val_loss"])
        lines = self.succeed("inspect", "long", "short").out.splitlines()
        self.assertEqual([lines[0].split(), lines[1].split()], [["long", "short"], ["train.max_iters", "60", "20"]])
        self.assertRegex(lines[3], r"^best_val_loss +\d\.\d{4} +\d\.\d{4}$")
        self.assertNotIn("learning_rate", "".join(lines))

    def test_configs_and_runs_are_told_apart_too(self):
        self.write("mine.json", {"extends": "ladder/bigram", "train": {"max_iters": 7}})
        self.assertEqual(self.succeed("inspect", "mine.json", "bigram", "--json").json["runs"], [None, None])
        self.assertRegex(self.succeed("inspect", "mine.json", "bigram").out, r"^ +mine.json +bigram\ntrain.max_iters +7 +\d+\n$")
        self.assertRegex(self.succeed("inspect", "mine.json", "long").out, r"train\.max_iters +7 +60\n(.*\n)+\n?.*best_val_loss +\d")

    def test_differences_fit_their_terminal_and_losses_of_different_texts_are_not_to_be_compared(self):
        self.write("other.txt", TEXT[:5000])
        self.train("other", "ladder/bigram", 10, "--text", "other.txt")
        self.train("leaking", "ladder/average", 60)
        for columns in (60, 80, 120):
            lines = self.fitting_lines(columns, "inspect", "leaking", "other")
            self.assertTrue(" ".join(lines).endswith("do not compare the losses."), lines)
            self.assertIn("(leaks)", "".join(lines))
        self.assertNotIn("do not compare", self.succeed("inspect", "long", "short").out)
        for option in ("val_fraction", "test_fraction"):
            self.train(option, "ladder/bigram", 2, "--" + option, "0.2")
            self.assertIn("do not compare the losses.", self.succeed("inspect", "long", option).out)

    def test_of_long_lists_that_begin_alike_the_part_is_shown_that_does_not(self):
        for name, rate in (("a.json", 0.5), ("b.json", 0.25)):
            groups = [{"match": "conv_" * 9, "weight_decay": 0}, {"match": "wte", "learning_rate": rate}]
            self.write(name, {"extends": "ladder/bigram", "train": {"groups": groups}})
        self.assertRegex(self.lines_at(80, "inspect", "a.json", "b.json")[1], r'^train.groups +\.\.\."learning_rate":0\.5,\S*\.\.\. +\.\.\."learning_rate":0\.25,\S*\.\.\.$')

    def test_runs_of_equal_configs_say_so(self):
        self.train("again", "ladder/bigram", 60)
        self.assertRegex(self.succeed("inspect", "long", "again").out, r"every option +the same")

    def test_what_cannot_be_compared_is_named(self):
        self.assertEqual(self.fail_with(66, "inspect", "long", "lung"), "no run, config or text at lung; did you mean long?")
        self.assertIn("is a text; two runs or configs can be compared", self.fail_with(2, "inspect", "long", SAMPLE_TEXT))
        self.assertIn("--verify", self.fail_with(2, "inspect", "long", "short", "--verify"))


class TextTest(ProgramTest):
    def test_symbols_are_counted_and_the_invisible_ones_named(self):
        text = "a a\tb\n" * 20 + "\u00a0\n"
        self.write("text.txt", text)
        told = self.succeed("inspect", "text.txt", "--json").json
        counts = {row["symbol"]: row["count"] for row in told["symbol_counts"]}
        self.assertEqual(counts, {symbol: text.count(symbol) for symbol in set(text)})
        names = {row["code_point"]: row.get("name") for row in told["symbol_counts"]}
        self.assertEqual((names["U+0020"], names["U+0009"], names["U+000A"], names["U+00A0"], names["U+0061"]),
                         ("space", "tab", "line feed", "no-break space", None))
        self.assertRegex(self.succeed("inspect", "text.txt").out, r"U\+0020 +space +20 +16\.4 %")

    def test_rare_symbols_are_listed_when_asked(self):
        self.assertIn("and 57 rarer symbols; --all lists them", self.succeed("inspect", SAMPLE_TEXT).out)
        self.assertEqual(self.succeed("inspect", SAMPLE_TEXT, "--all").out.count("U+00"), 69)

    def test_line_ends_and_lines(self):
        for content, ends, lines in (("a\nb\n", "LF", 2), ("a\r\nb\r\nc", "CRLF", 3), ("a\r\nb\n", "mixed: 1 LF, 1 CRLF", 2), ("ab", "none", 1), ("a\rb\r", "CR", 2)):
            self.write("text.txt", content)
            told = self.succeed("inspect", "text.txt", "--json").json
            self.assertEqual((told["line_ends"], told["lines"]), (ends, lines))

    def test_a_held_out_part_that_differs_is_told(self):
        names = sorted({a + b + c for a in "bcdfghjklmnprst" for b in ("an", "e", "illo", "ar", "uni") for c in ("ra", "sto", "l", "ndi", "ka", "m")})
        self.write("names.txt", "".join(name + "\n" for name in names for _ in range(8)))
        told = self.succeed("inspect", "names.txt", "--json").json
        self.assertTrue(told["split_check"]["differs"] and told["split_check"]["sorted"])
        self.assertIn("the lines are sorted", told["notices"][-1])
        self.assertIn("--documents lines", self.succeed("inspect", "names.txt").out)
        sample = self.succeed("inspect", SAMPLE_TEXT, "--json").json
        self.assertFalse(sample["split_check"]["differs"])
        self.assertEqual([], sample["notices"])

    def test_baselines_are_those_of_eval_and_shared_text_is_told(self):
        told = self.succeed("inspect", SAMPLE_TEXT, "--json").json
        self.train("run", "ladder/bigram", 1)
        baselines = self.succeed("eval", "run", "--json").json["baselines"]
        for name in ("uniform", "unigram", "bigram", "trigram", "gzip", "xz"):
            self.assertAlmostEqual(told["baselines"][name], baselines[name], places=9)
        self.assertEqual(told["val_tokens_in_train"], 0)
        part = TEXT[:2000]
        self.write("twice.txt", part + part[:222])
        self.assertGreater(self.succeed("inspect", "twice.txt", "--json").json["val_tokens_in_train"], 200)
        self.assertRegex(self.succeed("inspect", "twice.txt").out.replace("\n", " "), r"\d+\.\d % of these also appear in the train split")

    def test_a_text_too_short_to_split_is_described_without_baselines(self):
        self.write("text.txt", "abc\n")
        self.assertIsNone(self.succeed("inspect", "text.txt", "--json").json["baselines"])
        self.assertIn("4 (4 different)", self.succeed("inspect", "text.txt").out)
