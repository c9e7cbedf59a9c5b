"""Several runs as one: the mean of their probabilities, scored and written from; what does not go together is refused by name."""

import json
import math

from program import SAMPLE_TEXT, SMALL, TEXT, ProgramTest


class EnsembleTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("a", "nanogpt-cpu", 60, *SMALL)
        self.train("b", "nanogpt-cpu", 20, *SMALL, "--seed", "7")

    def test_eval_gives_each_loss_the_loss_of_the_mean_and_the_speed(self):
        alone, both = [self.json("eval", run) for run in ("a", "b")], self.json("eval", "a", "b")
        self.assertEqual([member["loss"] for member in both["members"]], [figures["loss"] for figures in alone])
        self.assertEqual([member["weight"] for member in both["members"]], [0.5, 0.5])
        self.assertEqual([member["checkpoint"]["path"] for member in both["members"]], [figures["checkpoint"]["path"] for figures in alone])
        self.assertLess(both["loss"], sum(figures["loss"] for figures in alone) / 2)
        self.assertEqual((both["tokens"], both["class"]), (alone[0]["tokens"], "frozen"))
        self.assertEqual(both["baselines"], alone[0]["baselines"])
        self.assertAlmostEqual(both["tokens"] / both["seconds"], both["tokens_per_second"], delta=1)
        out = self.succeed("eval", "a", "b").out
        self.assertRegex(out, rf"2 models as one, val +{both['loss']:.4f} .*\n +a alone, weight 0.50 +{alone[0]['loss']:.4f} .*\n +b alone, weight 0.50 ")
        self.assertRegex(out, r"\nScored in .* characters a second\.\n")

    def test_its_probabilities_are_the_mean_of_those_that_score_reports(self):
        self.write("text.txt", TEXT[5000:5017])
        self.write("one.txt", TEXT[5001:5017])
        losses = [self.json("score", run, "one.txt")["losses"] for run in ("a", "b")]
        # score begins with a start symbol, eval with the text's first character: the same window where that is it
        start = [self.json("eval", run, "--text", "text.txt") for run in ("a", "b")]
        both = self.json("eval", "a", "b", "--text", self.write("line.txt", "\n" + TEXT[5001:5017]))
        mean = -sum(math.log((math.exp(-x) + math.exp(-y)) / 2) for x, y in zip(*losses)) / 16
        self.assertEqual(start[0]["tokens"], 16)
        self.assertAlmostEqual(both["loss"], mean, places=5)

    def test_score_gives_each_character_the_loss_of_the_mean(self):
        self.write("text.txt", TEXT[5000:5100])
        alone, both = [self.json("score", run, "text.txt") for run in ("a", "b")], self.json("score", "a", "b", "text.txt")
        for x, y, mean in zip(alone[0]["losses"], alone[1]["losses"], both["losses"]):
            self.assertAlmostEqual(mean, -math.log((math.exp(-x) + math.exp(-y)) / 2), places=4)
        self.assertEqual([(member["run"], member["weight"], member["checkpoint"]) for member in both["members"]],
                         [(run, 0.5, one["checkpoint"]) for run, one in zip("ab", alone)])
        self.assertNotIn("checkpoint", both)
        self.assertEqual(self.json("score", "a", "b", "-", stdin=TEXT[5000:5100].encode())["losses"], both["losses"])
        self.assertIn(" of text.txt, by 2 models as one\n", self.succeed("score", "a", "b", "text.txt").out)
        self.assertEqual(self.json("score", "a", "b")["text"], "the validation split")
        (self.folder / "texts").mkdir()
        self.write("texts/one.txt", TEXT[5000:5100])
        self.assertEqual(self.json("score", "a", "b", "texts")["losses"], both["losses"])

    def test_each_character_has_a_distribution_that_no_later_one_changes(self):
        for options in ([], ["--learn-weights"], ["--counts"]):
            with self.subTest(options):
                self.check_causal_distributions(["a", "b"], *options)

    def test_while_it_learns_probabilities_sum_to_one_and_no_later_character_changes_them(self):
        few, adapt = "".join("abcdef"[ord(character) % 6] for character in TEXT), ["--adapt", "--counts"]
        self.write("few.txt", few[:12000])
        for name in ("c", "d"):
            self.train(name, "nanogpt-cpu", 5, *SMALL, "--text", "few.txt", "--seed", str(ord(name)))
        losses = []
        for symbol in "abcdef":
            self.write("text.txt", few[20000:20060] + symbol)
            losses.append(self.json("score", "c", "d", "text.txt", *adapt)["losses"])
        self.assertAlmostEqual(sum(math.exp(-each[60]) for each in losses), 1, places=5)
        for each in losses:
            self.assertEqual(each[:60], losses[0][:60])

    def test_score_adapts_each_by_its_own_rate_and_says_so(self):
        self.write("text.txt", TEXT[5000:5100])
        both = self.json("score", "a", "b", "text.txt", "--adapt")
        self.assertEqual([member["adaptation"] for member in both["members"]], [self.json("score", run, "text.txt", "--adapt")["adaptation"] for run in "ab"])
        self.assertRegex(self.succeed("score", "a", "b", "text.txt", "--adapt").out, r"adapting\s+a at rate [^;]*;\s+b at\s+rate ")

    def test_learned_weights_hold_while_each_adapts(self):
        self.write("text.txt", TEXT[5000:5100])
        alone, both = ([self.json("score", run, "text.txt", "--adapt")["losses"] for run in "ab"],
                       self.json("score", "a", "b", "text.txt", "--adapt", "--learn-weights"))
        first, second = (member["weight"] for member in both["members"])
        self.assertNotAlmostEqual(first, 0.5, places=2)
        for x, y, mean in zip(*alone, both["losses"]):
            self.assertAlmostEqual(mean, -math.log(first * math.exp(-x) + second * math.exp(-y)), places=4)

    def test_one_run_twice_is_that_run(self):
        self.assertAlmostEqual(self.json("eval", "a", "a")["loss"], self.json("eval", "a")["loss"], places=6)
        sample = ["--tokens", "100", "--num-samples", "2", "--prompt", "The "]
        self.assertEqual(self.succeed("sample", "a", "a", *sample).out, self.succeed("sample", "a", *sample).out)
        path = self.json("eval", "a")["checkpoint"]["path"]
        self.assertAlmostEqual(self.json("eval", "a", path)["loss"], self.json("eval", "a")["loss"], places=6)

    def test_samples_are_drawn_from_the_mean(self):
        probabilities = {}
        for runs in (["a"], ["b"], ["a", "b"]):
            line = self.json("sample", *runs, "--prompt", "The", "--tokens", "1", "--probabilities", "1000")
            probabilities[" ".join(runs)] = {one["character"]: one["probability"] for one in line["probabilities"][0]["candidates"]}
        self.assertAlmostEqual(sum(probabilities["a b"].values()), 1, places=5)
        for character, probability in probabilities["a b"].items():
            self.assertAlmostEqual(probability, (probabilities["a"][character] + probabilities["b"][character]) / 2, places=5)
        self.assertEqual([member["run"] for member in line["members"]], ["a", "b"])
        best = max(probabilities["a b"], key=probabilities["a b"].get)
        self.assertEqual(self.succeed("sample", "a", "b", "--prompt", "The", "--tokens", "1", "--greedy").out, f"The{best}\n")
        count, samples = 2000, self.succeed("sample", "a", "b", "--prompt", "The", "--tokens", "1", "--num-samples", "2000", "--temperature", "1", "--json")
        drawn = [json.loads(line)["text"] for line in samples.out.splitlines()]
        share = probabilities["a b"][best]
        self.assertAlmostEqual(drawn.count(best) / count, share, delta=4 * math.sqrt(share * (1 - share) / count))
        self.assertEqual(self.succeed("sample", "a", "b", "-", "--tokens", "9", stdin=b"The").out, self.succeed("sample", "a", "b", "--prompt", "The", "--tokens", "9").out)

    def test_learned_weights_lower_the_loss_where_they_are_learned_and_are_told(self):
        outcome = self.succeed("eval", "a", "b", "--learn-weights", "--json")
        figures, train = outcome.json, int(0.9 * len(TEXT))
        self.assertEqual(figures["weights_learned_on_tokens"], train // 20)
        weights = [member["weight"] for member in figures["members"]]
        self.assertAlmostEqual(sum(weights), 1, places=6)
        self.assertGreater(weights[0], 0.5)
        self.assertIn(f"characters of the train split: a {weights[0]:.3f}, b {weights[1]:.3f}", outcome.err)
        self.assertIn("weights learned on the last", self.succeed("eval", "a", "b", "--learn-weights").out)
        end = TEXT[train - train // 20:train]
        self.write("end.txt", end)
        equal, learned = (self.json("eval", "a", "b", "--text", "end.txt", *options)["loss"] for options in ([], ["--learn-weights"]))
        self.assertLess(learned, equal)
        self.assertNotEqual(self.succeed("sample", "a", "b", "--learn-weights").out, self.succeed("sample", "a", "b").out)
        self.assertIn("--learn-weights is for several runs", self.fail_with(2, "eval", "a", "--learn-weights"))

    def test_weights_are_learned_on_the_end_of_the_train_split(self):
        self.write("both.txt", "abcd" * 1500 + "efgh" * 1500)
        for name, letters in (("c", "abcd"), ("d", "efgh")):  # which knows one half of the text by heart, and little of the other
            self.train(f"half-{name}", "ladder/bigram", 60, "--learning_rate", "0.05", text=letters * 1500)
            self.train(name, "ladder/bigram", 1, "--init_from", f"half-{name}", "--text", "both.txt")
        self.assertGreater(self.json("eval", "c", "d", "--learn-weights")["members"][1]["weight"], 0.9)

    def test_weights_are_learned_on_a_twentieth_of_the_train_split_unless_that_is_too_little(self):
        for size, line in ((9_000, "the training text is too short to learn the runs' weights"), (250_000, "weights, learned on the last 11,250 characters")):
            self.train(f"of-{size}", "nanogpt-cpu", 1, *SMALL, text=(TEXT * 9)[:size])
            self.assertIn(line, self.succeed("sample", f"of-{size}", f"of-{size}", "--learn-weights", "--tokens", "1").err)

    def test_it_is_mixed_with_counts_and_adapts(self):
        plain, counts, adapt, all_of_it = (self.json("eval", "a", "b", "--stride", "8", *options) for options in ([], ["--counts"], ["--adapt"], ["--adapt", "--counts"]))
        for figures in (counts, adapt, all_of_it):
            self.assertEqual(figures["network_loss"], plain["loss"])
        self.assertLess(counts["loss"], plain["loss"])
        self.assertLess(adapt["loss"], plain["loss"])
        self.assertLess(all_of_it["loss"], min(counts["loss"], adapt["loss"]))
        self.assertEqual(adapt["class"], "adaptive")
        self.assertEqual(adapt["members"][1]["adaptation"], self.json("eval", "b", "--adapt")["adaptation"])
        self.assertRegex(self.succeed("eval", "a", "b", "--adapt").out, r"after each window a learned(.|\n)*after each window\s+b learned")
        self.succeed("sample", "a", "b", "--counts", "--tokens", "20")

    def test_runs_of_other_windows_score_in_the_shortest(self):
        self.train("long", "nanogpt-cpu", 5, *SMALL, "--block_size", "32")
        outcome = self.succeed("eval", "long", "a", "--json")
        self.assertEqual(outcome.json["block_size"], 16)
        self.assertIn("scored in the shortest, of 16", outcome.err)
        self.assertEqual(outcome.json["members"][1]["loss"], self.json("eval", "a")["loss"])
        self.succeed("sample", "long", "a", "--tokens", "50")
        for length in (17, 32, 33):  # when sampling, each uses its own
            told = self.succeed("sample", "long", "a", "--prompt", TEXT[:length], "--tokens", "1").err
            self.assertEqual("the prompt has 33 characters but the context is 32" in told, length == 33)
            self.assertEqual(told.count("the prompt has"), int(length == 33), told)

    def test_a_test_split_is_counted_in_each_run(self):
        for name, seed in (("c", "1"), ("d", "2")):
            self.train(name, "nanogpt-cpu", 2, *SMALL, "--seed", seed, "--test_fraction", "0.1")
        self.json("eval", "d", "--split", "test")
        self.assertEqual(self.json("eval", "c", "d", "--split", "test")["test_scores"], 2)
        self.assertEqual(self.json("eval", "c", "--split", "test")["test_scores"], 2)
        self.assertEqual(self.json("eval", "c", "--split", "test")["test_scores"], 3)
        self.assertEqual(self.json("eval", "c", "d", "--split", "test")["test_scores"], 4)  # of d it is the third time

    def test_runs_that_do_not_go_together_are_refused_by_name(self):
        self.train("other", "nanogpt-cpu", 2, *SMALL, text=TEXT[:20000] + "é")
        for command in ("eval", "sample", "score"):
            self.assertIn("a and other have different vocabularies ('", self.fail_with(65, command, "a", "other"))
        self.train("more", "nanogpt-cpu", 2, *SMALL, text=TEXT + "é")
        self.assertIn("('é' (U+00E9) is a symbol of more alone)", self.fail_with(65, "eval", "a", "more"))
        self.train("bytes", "nanogpt-cpu", 2, *SMALL, "--units", "bytes")
        self.assertIn("(a has characters and bytes bytes)", self.fail_with(65, "eval", "a", "bytes"))
        self.assertIn("'To be' is no run; give a prompt with --prompt", self.fail_with(2, "sample", "a", "To be"))
        self.fail_with(66, "eval", "a", "nowhere")

    def test_runs_of_other_splits_score_only_a_text_that_is_new_to_all(self):
        self.train("half", "nanogpt-cpu", 2, *SMALL, "--val_fraction", "0.5")
        for options in ([], ["--split", "train"], ["--text", SAMPLE_TEXT]):
            self.assertIn("a and half differ in their text (data.val_fraction 0.1 -> 0.5)", self.fail_with(2, "eval", "a", "half", *options))
        self.write("new.txt", TEXT[::-1][:2000])
        outcome = self.succeed("eval", "a", "half", "--text", "new.txt", "--json")
        self.assertNotIn("baselines", outcome.json)
        self.assertIn("no baselines: a and half differ", outcome.err)
        for option in ("--counts", "--adapt"):
            self.assertIn("without --counts, --adapt", self.fail_with(2, "eval", "a", "half", "--text", "new.txt", option))
        self.succeed("sample", "a", "half", "--tokens", "10")
        self.assertIn("so they share no training split", self.fail_with(2, "sample", "a", "half", "--counts"))
        self.succeed("score", "a", "half", "new.txt")
        self.assertIn("to score them together, give a new text FILE", self.fail_with(2, "score", "a", "half"))
        for option in ("--counts", "--adapt", "--learn-weights"):
            self.assertIn("so they share no training split", self.fail_with(2, "score", "a", "half", "new.txt", option))
