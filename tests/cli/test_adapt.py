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
        adaptation, train = figures["adaptation"], int(0.9 * len(TEXT))
        self.assertEqual(adaptation["chosen_on_tokens"], train // 20)
        least = min(trial["loss"] for trial in adaptation["trials"])
        self.assertEqual(adaptation["rate"], max(trial["rate"] for trial in adaptation["trials"] if trial["loss"] <= least + 0.001))
        out = self.succeed("eval", "run", "--adapt").out
        self.assertRegex(out, rf"this model, val +{frozen['loss']:.4f} .*\n  adapting to the text +{figures['loss']:.4f} ")
        self.assertIn("after each window the network learned from the characters just scored", out)
        self.assertIn(f"chosen on the last {train // 20:,} characters of the train split", out)
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

    def test_the_rate_is_kept_for_the_weights_that_it_was_chosen_for(self):
        choice = self.json("eval", "run", "--adapt")["adaptation"]
        kept = self.json_of("run/adapt.json")
        self.assertEqual((kept["rate"], kept["tokens"]), (choice["rate"], choice["chosen_on_tokens"]))
        self.write("run/adapt.json", kept | {"rate": 0.00123})
        self.assertEqual(self.json("eval", "run", "--adapt")["adaptation"]["rate"], 0.00123)
        self.write("run/adapt.json", kept | {"rate": 0.00123, "weights": "0123456789abcdef"})
        self.assertEqual(self.json("eval", "run", "--adapt")["adaptation"], choice)
        self.assertEqual(self.json_of("run/adapt.json"), kept)

    def test_with_a_kept_rate_another_text_needs_no_training_text(self):
        self.train("other", "nanogpt-cpu", 100, *SMALL, text=TEXT)
        self.write("text.txt", TEXT[:500])
        command = ["eval", "other", "--adapt", "--text", "text.txt", "--json"]
        loss = self.succeed(*command).json["loss"]
        (self.folder / "other.txt").unlink()
        again = self.succeed(*command)
        self.assertEqual(again.json["loss"], loss)
        self.assertIn("no baselines", again.err)
        (self.folder / "other/adapt.json").unlink()
        self.assertIn("other.txt", self.fail_with(66, *command))

    def test_a_damaged_file_is_named_and_the_rate_chosen_anew(self):
        choice = self.json("eval", "run", "--adapt")["adaptation"]
        kept = self.json_of("run/adapt.json")
        for damaged in ("", "{", "[]", kept | {"rate": 2}, kept | {"decay": "nan"}, kept | {"format": "other"},
                     kept | {"version": 2}, kept | {"tokens": -1}, kept | {"trials": [1]}):
            self.write("run/adapt.json", damaged)
            outcome = self.succeed("eval", "run", "--adapt", "--json")
            self.assertRegex(outcome.err, r"warning: .*adapt\.json.*; the rate is chosen anew")
            self.assertEqual(outcome.json["adaptation"], choice)
            self.assertEqual(self.json_of("run/adapt.json"), kept)

    def test_a_link_in_place_of_the_file_is_not_followed(self):
        self.write("mine.json", "mine")
        (self.folder / "run/adapt.json").symlink_to(self.folder / "mine.json")
        self.assertIn("adapt.json", self.succeed("eval", "run", "--adapt").err)
        self.assertEqual((self.folder / "mine.json").read_text(), "mine")

    def test_a_text_too_short_to_choose_by_is_said(self):
        self.train("short", "nanogpt-cpu", 5, *SMALL, text=TEXT[:3000])
        self.assertIn("the train split is too short to choose the rate by", self.succeed("eval", "short", "--adapt").out)
        self.assertFalse((self.folder / "short/adapt.json").exists())

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

    def test_what_was_learned_is_forgotten_after_each_stretch(self):
        figures = [self.json("eval", "run", "--adapt", "--counts", "--restart", restart) for restart in (16, 500, 16384, 0)]
        self.assertEqual([(each["class"], each.get("restart")) for each in figures], [("frozen", 16), ("frozen", 500), ("frozen", 16384), ("adaptive", None)])
        losses = [each["loss"] for each in figures]
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertEqual(losses[2], losses[3])  # the split is shorter
        out = self.succeed("eval", "run", "--adapt", "--counts", "--restart", 500).out
        self.assertIn("mixed with counts, both adapting, anew every 500 characters ", out)
        self.assertRegex(out, rf"Begun anew every 500 characters: (beats|behind) counted [1-6]-grams \({figures[1]['baselines']['ngram']['loss']:.4f}\)")
        self.assertRegex(self.succeed("eval", "run", "--adapt", "--restart", 16).out,
                         rf"Begun anew every 16 characters: (beats|behind) counted [1-6]-grams \({figures[0]['baselines']['ngram']['loss_in_windows']:.4f}\)")
        self.assertIn("add --adapt", self.fail_with(2, "eval", "run", "--counts", "--restart", 500))

    def test_what_cannot_adapt_is_refused_by_name(self):
        self.train("bigram", "ladder/bigram", 5)
        self.assertEqual(self.fail_with(2, "eval", "bigram", "--adapt"), "--adapt does not compute gradients for model.type = bigram; leave it out")
        self.train("post", "nanogpt-cpu", 2, *SMALL, "--norm_place", "post")
        self.assertIn("model.norm_place = post", self.fail_with(2, "score", "post", "--adapt"))
        self.assertIn("--candidates", self.fail_with(2, "score", "run", "--adapt", "--candidates", "3", "--json"))
