"""data.test_fraction: a last part of the text that nothing looks at but eval --split test and compare, which the run counts."""

from program import QUICK, SMALL, TEXT, ProgramTest, metrics

SPLIT = ["--val_fraction", "0.1", "--test_fraction", "0.2"]


class HeldOutTest(ProgramTest):
    def test_the_text_is_cut_into_train_val_and_test_and_what_stands_in_the_last_changes_nothing_else(self):
        begin = int(0.8 * len(TEXT))
        runs = []
        for name, text in (("mine", TEXT), ("other", TEXT[:begin] + TEXT[begin:][::-1])):
            self.train(name, "nanogpt-cpu", 20, *SMALL, *SPLIT, text=text)
            evals = metrics(self.folder / name)
            figures = self.json("eval", name)
            adapted = self.json("eval", name, "--adapt", "--counts")
            alike = [(one["step"], one.get("loss"), one.get("val_loss"), one.get("train_loss")) for one in evals if one["kind"] in ("train", "eval")]
            runs.append((alike, figures["loss"], figures["baselines"], adapted["loss"], adapted["adaptation"], adapted["counts"]))
        plan = evals[0]
        self.assertEqual([plan[f"{part}_tokens"] for part in ("train", "val", "test")], [int(0.7 * len(TEXT)), begin - int(0.7 * len(TEXT)), len(TEXT) - begin])
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(*(self.json("eval", name, "--split", "test")["loss"] for name in ("mine", "other")))

    def test_eval_scores_the_test_split_and_says_how_often_it_has_been_scored(self):
        self.train("run", "nanogpt-cpu", 20, *SMALL, *SPLIT)
        figures = self.json("eval", "run", "--split", "test")
        begin = int(0.8 * len(TEXT))
        self.assertEqual((figures["split"], figures["tokens"], figures["test_scores"]), ("test", len(TEXT) - begin - 1, 1))
        self.write("end.txt", TEXT[begin:])
        self.assertAlmostEqual(figures["loss"], self.json("eval", "run", "--text", "end.txt")["loss"], places=6)
        self.assertIn("\nThis test split has been scored 2 times.\n", self.succeed("eval", "run", "--split", "test", "--counts").out)
        self.write("mine.txt", TEXT)
        self.assertEqual(self.json("eval", "run", "--split", "test", "--adapt", "--text", "mine.txt")["test_scores"], 3)
        for others in ([], ["--split", "train"], ["--split", "all"], ["--text", "mine.txt"], ["--text", "end.txt", "--split", "test"]):
            self.assertNotIn("test_scores", self.json("eval", "run", *others))
        self.assertEqual(self.json_of("run/test.json")["times"], 3)
        whole = self.succeed("eval", "run", "--split", "all", "--json")
        self.assertEqual(whole.json["tokens"], begin - 1)
        self.assertIn("the test split is left out; see --split test", whole.err)
        self.assertEqual((self.json("inspect", "run")["test"], self.json("inspect", "run")["test_scores"]), (len(TEXT) - begin, 3))
        self.assertRegex(self.succeed("inspect", "run").out, rf"\ntest +{len(TEXT) - begin:,}\ntest_scores +3\n")

    def test_of_a_long_test_split_eval_too_scores_the_first_max_val_tokens(self):
        self.train("run", "ladder/bigram", 20, *SPLIT, "--max_val_tokens", "1000")
        begin = int(0.8 * len(TEXT))
        self.write("part.txt", TEXT[begin:begin + 1000])
        figures = self.json("eval", "run", "--split", "test")
        self.assertEqual(figures["tokens"], 999)
        self.assertAlmostEqual(figures["loss"], self.json("eval", "run", "--text", "part.txt")["loss"], places=6)

    def test_a_damaged_count_is_named_before_anything_is_scored(self):
        self.train("run", "nanogpt-cpu", 20, *SMALL, *SPLIT)
        self.write("run/test.json", "{}")
        error = self.fail_with(65, "eval", "run", "--split", "test")
        self.assertIn("test.json", error)
        self.assertIn("delete it to count from 0", error)

    def test_a_run_without_one_says_what_to_do(self):
        self.train("run", "nanogpt-cpu", 20, *SMALL)
        self.assertEqual(self.fail_with(65, "eval", "run", "--split", "test"),
                         "run holds out no test split; train a run with --test_fraction 0.1, or score another text with --text FILE")
        self.assertFalse((self.folder / "run/test.json").exists())
        self.assertNotIn("test", self.json("inspect", "run"))

    def test_fractions_that_leave_nothing_are_refused(self):
        for fraction, said in (("-0.1", "data.test_fraction = -0.1"), ("0.95", "data.test_fraction = 0.95"), ("0.9", "leave nothing to train on")):
            self.assertIn(said, self.fail_with(2, "train", "nanogpt-cpu", *QUICK, "--run", "run", "--test_fraction", fraction))
        self.write("short.txt", TEXT[:200])
        error = self.fail_with(65, "train", "nanogpt-cpu", *SMALL, "--run", "run", "--text", "short.txt", "--test_fraction", "0.05")
        self.assertIn("10 to test on, but each needs at least model.block_size + 1 = 17", error)

    def test_whole_documents_are_drawn_for_it(self):
        self.train("run", "nanogpt-cpu", 20, *SMALL, *SPLIT, "--documents", "lines", text="".join(f"name {i * 37 % 1000}\n" for i in range(1000)))
        whole, test = (self.json("eval", "run", "--split", split) for split in ("all", "test"))
        self.assertAlmostEqual(test["tokens"] / (test["tokens"] + whole["tokens"]), 0.2, places=2)

    def test_compare_scores_the_best_checkpoint_of_each_run_once_and_tells_of_more(self):
        train = ["compare", "ladder/bigram", "--vary", "model.n_embd=4,8", "--max_iters", "20", *QUICK, *SPLIT, "--out"]
        first = self.json(*train, "out")
        for result in first["results"]:
            seed = result["seeds"][0]
            self.assertEqual(seed["test_scores"], 1)
            self.assertEqual(result["test_loss"], seed["test_loss"])
        best = first["results"][0]["seeds"][0]
        self.assertAlmostEqual(self.json("eval", best["run"], "--split", "test")["loss"], best["test_loss"], places=6)
        table = self.succeed(*train, "out")
        self.assertRegex(table.out, rf"rank .* loss +test .*\n.* {best['test_loss']:.4f} ")
        self.assertRegex(table.err, r"on the test split, scored more than once: \S+ 2 times\n")
        runs = self.json("compare", *(result["seeds"][0]["run"] for result in first["results"]))
        self.assertEqual([result["seeds"][0]["test_scores"] for result in runs["results"]], [3, 2])
        self.succeed(*train, "within", "--score-on", "train")
        self.assertEqual(list(self.folder.glob("within/*/test.json")), [])
