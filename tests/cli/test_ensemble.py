"""Several runs as one: the mean of their probabilities, scored and written from; what does not go together is refused by name."""

import json
import math

from program import SMALL, TEXT, ProgramTest


class EnsembleTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("a", "nanogpt-cpu", 60, *SMALL)
        self.train("b", "nanogpt-cpu", 20, *SMALL, "--seed", "7")

    def test_eval_gives_each_loss_the_loss_of_the_mean_and_the_speed(self):
        alone, both = [self.json("eval", run) for run in ("a", "b")], self.json("eval", "a", "b")
        self.assertEqual([member["loss"] for member in both["members"]], [figures["loss"] for figures in alone])
        self.assertEqual([member["checkpoint"]["path"] for member in both["members"]], [figures["checkpoint"]["path"] for figures in alone])
        self.assertLess(both["loss"], sum(figures["loss"] for figures in alone) / 2)
        self.assertEqual((both["tokens"], both["class"]), (alone[0]["tokens"], "frozen"))
        self.assertEqual(both["baselines"], alone[0]["baselines"])
        self.assertAlmostEqual(both["tokens"] / both["seconds"], both["tokens_per_second"], delta=1)
        out = self.succeed("eval", "a", "b").out
        self.assertRegex(out, rf"2 models as one, val +{both['loss']:.4f} .*\n +a alone +{alone[0]['loss']:.4f} .*\n +b alone ")
        self.assertRegex(out, r"\nScored in .* characters a second\.\n")

    def test_score_gives_each_character_the_loss_of_the_mean(self):
        self.write("text.txt", TEXT[5000:5100])
        alone, both = [self.json("score", run, "text.txt") for run in ("a", "b")], self.json("score", "a", "b", "text.txt")
        for x, y, mean in zip(alone[0]["losses"], alone[1]["losses"], both["losses"]):
            self.assertAlmostEqual(mean, -math.log((math.exp(-x) + math.exp(-y)) / 2), places=4)
        self.assertEqual([(member["run"], member["checkpoint"]) for member in both["members"]], [(run, one["checkpoint"]) for run, one in zip("ab", alone)])
        self.assertNotIn("checkpoint", both)
        self.assertEqual(self.json("score", "a", "b", "-", stdin=TEXT[5000:5100].encode())["losses"], both["losses"])
        self.assertIn(", by 2 models as one\n", self.succeed("score", "a", "b", "text.txt").out)
        self.assertEqual(self.json("score", "a", "b")["text"], "the validation split")
        (self.folder / "texts").mkdir()
        self.write("texts/one.txt", TEXT[5000:5100])
        self.assertEqual(self.json("score", "a", "b", "texts")["losses"], both["losses"])

    def test_each_character_has_a_distribution_that_no_later_one_changes(self):
        for options in ([], ["--counts"]):
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

    def test_score_adapts_each_network_by_itself(self):
        self.write("text.txt", TEXT[5000:5100])
        alone, both = [self.json("score", run, "text.txt", "--adapt") for run in "ab"], self.json("score", "a", "b", "text.txt", "--adapt")
        for x, y, mean in zip(alone[0]["losses"], alone[1]["losses"], both["losses"]):
            self.assertAlmostEqual(mean, -math.log((math.exp(-x) + math.exp(-y)) / 2), places=4)
        self.assertEqual(both["adaptation"], alone[0]["adaptation"])

    def test_samples_are_drawn_from_the_mean(self):
        probabilities = {}
        for runs in (["a"], ["b"], ["a", "b"]):
            last = self.json("score", *runs, "-", "--candidates", "1000", stdin=b"The ")["scores"][3]  # after a newline and "The"
            probabilities[" ".join(runs)] = {one["character"]: math.exp(one["log_probability"]) for one in last["candidates"]}
        self.assertAlmostEqual(sum(probabilities["a b"].values()), 1, places=5)
        for character, probability in probabilities["a b"].items():
            self.assertAlmostEqual(probability, (probabilities["a"][character] + probabilities["b"][character]) / 2, places=5)
        prompt = ["sample", "a", "b", "--prompt", "\nThe", "--tokens", "1"]
        self.assertEqual([member["run"] for member in self.json(*prompt)["members"]], ["a", "b"])
        best = max(probabilities["a b"], key=probabilities["a b"].get)
        self.assertEqual(self.succeed(*prompt, "--greedy").out, f"\nThe{best}\n")
        count, samples = 2000, self.succeed(*prompt, "--num-samples", "2000", "--temperature", "1", "--json")
        drawn = [json.loads(line)["text"] for line in samples.out.splitlines()]
        share = probabilities["a b"][best]
        self.assertAlmostEqual(drawn.count(best) / count, share, delta=4 * math.sqrt(share * (1 - share) / count))
        self.assertEqual(self.succeed("sample", "a", "b", "-", "--tokens", "9", stdin=b"The").out, self.succeed("sample", "a", "b", "--prompt", "The", "--tokens", "9").out)

    def test_it_is_mixed_with_counts_and_adapts(self):
        plain, counts, adapt, all_of_it = (self.json("eval", "a", "b", "--stride", "8", *options) for options in ([], ["--counts"], ["--adapt"], ["--adapt", "--counts"]))
        for figures in (counts, adapt, all_of_it):
            self.assertEqual(figures["network_loss"], plain["loss"])
        self.assertLess(counts["loss"], plain["loss"])
        self.assertLess(adapt["loss"], plain["loss"])
        self.assertLess(all_of_it["loss"], min(counts["loss"], adapt["loss"]))
        self.assertEqual(adapt["class"], "adaptive")
        self.assertEqual(adapt["adaptation"], {"rate": 0.0002, "decay": 0.0005})
        self.assertIn("after each window each network learned", self.succeed("eval", "a", "b", "--adapt").out)
        self.assertEqual(self.fail_with(2, "eval", "a", "b", "--adapt=auto"), "--adapt=auto chooses the rate of one run; for several write --adapt=RATE")
        self.succeed("sample", "a", "b", "--counts", "--tokens", "20")
