"""data.test_fraction: a last part of the text that nothing looks at but eval --split test and compare."""

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
            adapted = self.json("eval", name, "--adapt=auto", "--counts")
            alike = [(one["step"], one.get("loss"), one.get("val_loss"), one.get("train_loss")) for one in evals if one["kind"] in ("train", "eval")]
            runs.append((alike, figures["loss"], figures["baselines"], adapted["loss"], adapted["adaptation"], adapted["counts"]))
        plan = evals[0]
        self.assertEqual([plan[f"{part}_tokens"] for part in ("train", "val", "test")], [int(0.7 * len(TEXT)), begin - int(0.7 * len(TEXT)), len(TEXT) - begin])
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(*(self.json("eval", name, "--split", "test")["loss"] for name in ("mine", "other")))

    def test_eval_scores_the_test_split(self):
        self.train("run", "nanogpt-cpu", 20, *SMALL, *SPLIT)
        figures = self.json("eval", "run", "--split", "test")
        begin = int(0.8 * len(TEXT))
        self.assertEqual((figures["split"], figures["tokens"]), ("test", len(TEXT) - begin - 1))
        self.write("end.txt", TEXT[begin:])
        self.assertAlmostEqual(figures["loss"], self.json("eval", "run", "--text", "end.txt")["loss"], places=6)
        whole = self.succeed("eval", "run", "--split", "all", "--json")
        self.assertEqual(whole.json["tokens"], begin - 1)
        self.assertIn("the test split is left out; see --split test", whole.err)
        self.assertEqual(self.json("inspect", "run")["test"], len(TEXT) - begin)
        self.assertRegex(self.succeed("inspect", "run").out, rf"\ntest +{len(TEXT) - begin:,}\n")

    def test_of_a_long_test_split_eval_too_scores_the_first_max_val_tokens(self):
        self.train("run", "ladder/bigram", 20, *SPLIT, "--max_val_tokens", "1000")
        begin = int(0.8 * len(TEXT))
        self.write("part.txt", TEXT[begin:begin + 1000])
        figures = self.json("eval", "run", "--split", "test")
        self.assertEqual(figures["tokens"], 999)
        self.assertAlmostEqual(figures["loss"], self.json("eval", "run", "--text", "part.txt")["loss"], places=6)

    def test_whole_documents_are_drawn_for_it(self):
        self.train("run", "nanogpt-cpu", 20, *SMALL, *SPLIT, "--documents", "lines", text="".join(f"name {i * 37 % 1000}\n" for i in range(1000)))
        whole, test = (self.json("eval", "run", "--split", split) for split in ("all", "test"))
        self.assertAlmostEqual(test["tokens"] / (test["tokens"] + whole["tokens"]), 0.2, places=2)

    def test_compare_scores_the_best_checkpoint_of_each_run(self):
        train = ["compare", "ladder/bigram", "--vary", "model.n_embd=4,8", "--max_iters", "20", *QUICK, *SPLIT, "--out"]
        first = self.json(*train, "out")
        for result in first["results"]:
            seed = result["seeds"][0]
            self.assertEqual(result["test_loss"], seed["test_loss"])
        best = first["results"][0]["seeds"][0]
        self.assertAlmostEqual(self.json("eval", best["run"], "--split", "test")["loss"], best["test_loss"], places=6)
        table = self.succeed(*train, "out")
        self.assertRegex(table.out, rf"rank .* loss +test .*\n.* {best['test_loss']:.4f} ")
        self.assertRegex(table.err, r"test: loss of each run's best checkpoint on the test split\n")
        runs = self.json("compare", *(result["seeds"][0]["run"] for result in first["results"]))
        self.assertEqual([result["test_loss"] for result in runs["results"]], [result["test_loss"] for result in first["results"]])
