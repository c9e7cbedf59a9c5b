"""inspect: what a config changes and what a text is made of, for people and for programs."""

from program import SAMPLE_TEXT, TEXT, ProgramTest


class ConfigTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", {"data": {"text": SAMPLE_TEXT}, "model": {"n_layer": 2}, "train": {
            "groups": [{"match": "wte|" + "a-very-long-name-of-a-parameter-" * 4, "learning_rate": 0.5}]}})

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
    def test_baselines_are_those_of_eval_and_shared_text_is_told(self):
        told = self.json("inspect", SAMPLE_TEXT)
        self.train("run", "ladder/bigram", 1)
        baselines = self.json("eval", "run")["baselines"]
        for name in ("uniform", "unigram", "bigram", "trigram"):
            self.assertAlmostEqual(told["baselines"][name], baselines[name], places=9)
        self.assertEqual(told["val_tokens_in_train"], 0)
        part = TEXT[:2000]
        self.write("twice.txt", part + part[:222])
        self.assertGreater(self.json("inspect", "twice.txt")["val_tokens_in_train"], 200)
        self.assertRegex(self.succeed("inspect", "twice.txt").out.replace("\n", " "), r"\d+\.\d % of these also appear in the train split")
