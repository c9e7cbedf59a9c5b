"""--adapt: each character is predicted before it is learned from, and the run's weights stay as they are."""

from program import SMALL, TEXT, ProgramTest, files


class AdaptTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "nanogpt-cpu", 100, *SMALL)

    def test_both_losses_are_given_in_the_same_windows_and_what_was_learned_from(self):
        before = files(self.folder / "run/checkpoints")
        figures = self.json("eval", "run", "--adapt")
        frozen = self.json("eval", "run", "--stride", "8")
        self.assertEqual((figures["class"], figures["network_loss"], figures["stride"]), ("adaptive", frozen["loss"], 8))
        self.assertLess(figures["loss"], frozen["loss"] - 0.02)
        self.assertAlmostEqual(sum(figures["tenths"]) / 10, figures["loss"], places=3)
        self.assertEqual(figures["adaptation"], {"rate": 0.0002, "decay": 0.0005})
        out = self.succeed("eval", "run", "--adapt").out
        self.assertRegex(out, rf"this model, val +{frozen['loss']:.4f} .*\n  adapting to the text +{figures['loss']:.4f} ")
        self.assertIn("after each window the network learned from the characters just scored, at rate 0.0002", out)
        self.assertEqual(files(self.folder / "run/checkpoints"), before)

    def test_a_later_character_changes_no_earlier_loss_and_any_number_of_threads_gives_the_same(self):
        self.write("text.txt", TEXT[5000:5600])
        self.write("other.txt", TEXT[5000:5300] + TEXT[9000:9300])
        first, again, other = (
            self.json("score", "run", name, "--adapt", "--threads", threads)["losses"]
            for name, threads in (("text.txt", "1"), ("text.txt", "2"), ("other.txt", "2"))
        )
        self.assertEqual(len(first), 600)
        self.assertEqual(first, again)
        self.assertEqual(first[:300], other[:300])
        self.assertNotEqual(first[300:], other[300:])

    def test_score_lists_the_loss_of_each_character(self):
        self.write("text.txt", TEXT[5000:5600])
        frozen, adaptive = (self.json("score", "run", "text.txt", *adapt) for adapt in ([], ["--adapt"]))
        for score, kind in ((frozen, "frozen"), (adaptive, "adaptive")):
            self.assertEqual(score["class"], kind)
            self.assertEqual(score["losses"], [one["loss"] for one in score["scores"]])
            self.assertAlmostEqual(sum(score["losses"]) / 600, score["loss"], places=5)
        self.assertEqual(frozen["losses"][:16], adaptive["losses"][:16])  # the first window, before anything was learned
        self.assertLess(adaptive["loss"], frozen["loss"])
        self.assertIn(", adapting at rate ", self.succeed("score", "run", "text.txt", "--adapt").out)

    def test_auto_chooses_the_rate_on_the_end_of_the_train_split(self):
        adaptation, train = self.json("eval", "run", "--adapt=auto")["adaptation"], int(0.9 * len(TEXT))
        self.assertEqual(adaptation["chosen_on_tokens"], train // 20)
        least = min(trial["loss"] for trial in adaptation["trials"])
        self.assertEqual(adaptation["rate"], max(trial["rate"] for trial in adaptation["trials"] if trial["loss"] <= least + 0.001))
        self.assertIn(f"chosen on the last {train // 20:,} characters of the train split", self.succeed("eval", "run", "--adapt=auto").out)
        self.train("short", "nanogpt-cpu", 5, *SMALL, text=TEXT[:3000])
        self.assertIn("too short to choose a rate: using 0.0002", self.succeed("eval", "short", "--adapt=auto").err)

    def test_a_rate_is_given_after_an_equals_sign(self):
        plain, same, faster = (self.json("eval", "run", adapt)["loss"] for adapt in ("--adapt", "--adapt=2e-4", "--adapt=0.001"))
        self.assertEqual(plain, same)
        self.assertNotEqual(plain, faster)
        for command in (["eval", "run"], ["score", "run"], ["eval"]):
            self.assertEqual(self.fail_with(2, *command, "--adapt", "0.001"), "'0.001' is not a run; write --adapt=0.001")
        self.assertEqual(self.fail_with(2, "eval", "run", "--adapt", "auto"), "'auto' is not a run; write --adapt=auto")
        for value in ("0", "-1", "2", "nan", "fast"):
            self.assertEqual(self.fail_with(2, "eval", "run", f"--adapt={value}"),
                             f"--adapt={value} is not understood; it takes a rate above 0, at most 1, or auto")
        self.assertEqual(self.fail_with(2, "score", "run", "--adapt=auto"), "--adapt=auto is not understood; it takes a rate above 0, at most 1")
        self.assertIn("--adapt[=RATE|=auto]", self.succeed("eval", "--help").out)
        self.succeed("eval", "--adapt", "run")

    def test_only_auto_needs_the_training_text_and_nothing_is_stored(self):
        self.train("other", "nanogpt-cpu", 100, *SMALL, text=TEXT)
        self.write("text.txt", TEXT[:500])
        for path in ("other.txt", "other/text.safetensors"):
            (self.folder / path).unlink()
        before = files(self.folder / "other")
        self.assertIn("no baselines", self.succeed("eval", "other", "--adapt", "--text", "text.txt").err)
        self.assertIn("other.txt", self.fail_with(66, "eval", "other", "--adapt=auto", "--text", "text.txt"))
        self.assertEqual(files(self.folder / "other"), before)

    def test_documents_are_scored_whole(self):
        self.train("lines", "nanogpt-cpu", 20, *SMALL, "--documents", "lines")
        figures = self.json("eval", "lines", "--adapt")
        self.assertEqual(figures["tokens"], self.json("eval", "lines")["tokens"])
        self.assertEqual(figures["class"], "adaptive")

    def test_with_counts_both_learn_from_the_text(self):
        alone, counts, both = (self.json("eval", "run", *options) for options in (["--adapt"], ["--counts", "--stride", "8"], ["--adapt", "--counts"]))
        self.assertEqual([figures["class"] for figures in (alone, counts, both)], ["adaptive", "frozen", "adaptive"])
        self.assertEqual((both["network_loss"], both["adaptation"]), (alone["network_loss"], alone["adaptation"]))
        self.assertLess(both["loss"], min(alone["loss"], counts["loss"]))
        score = self.json("score", "run", "--adapt", "--counts")
        self.assertEqual((score["class"], score["counts"]), ("adaptive", True))
        self.assertAlmostEqual(score["loss"], both["loss"], places=1)

    def test_candidates_need_fixed_weights(self):
        self.assertIn("--candidates", self.fail_with(2, "score", "run", "--adapt", "--candidates", "3", "--json"))
