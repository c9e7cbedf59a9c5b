"""--counts: what the mixture of network and counts prints, and that it is a distribution."""

import random

from program import SMALL, TEXT, ProgramTest


class CountsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "nanogpt-cpu", 20, *SMALL)

    def test_both_losses_are_given_and_what_the_weights_were_learned_on(self):
        figures, alone = (self.json("eval", "run", *counts) for counts in (["--counts"], []))
        self.assertEqual((figures["class"], figures["network_loss"]), ("frozen", alone["loss"]))
        self.assertLess(figures["loss"], min(alone["loss"], alone["baselines"]["ngram"]["loss"]))
        self.assertEqual(figures["tokens"], alone["tokens"])
        weights, train = figures["counts"]["weights"], int(0.9 * len(TEXT))
        self.assertEqual(figures["counts"]["counted_tokens"], train)
        self.assertEqual(weights["learned_on_tokens"], (train // 20 - 1) // 16 * 16)
        self.assertLess(weights["mixture_loss"], weights["network_loss"])
        out = self.succeed("eval", "run", "--counts").out
        self.assertRegex(out, rf"this model, val +{alone['loss']:.4f} .*\n  mixed with counts +{figures['loss']:.4f} ")
        self.assertIn(f"come from the last {weights['learned_on_tokens']:,} characters of the train split", out)

    def test_each_character_has_a_distribution_that_no_later_one_changes(self):
        self.check_causal_distributions(["run"], "--counts")

    def test_samples_are_written_from_the_mixture_alike_by_any_number_of_threads(self):
        sample = ["sample", "run", "--counts", "--tokens", "60", "--num-samples", "3"]
        one = self.succeed(*sample, "--threads", "1").out
        self.assertEqual(one, self.succeed(*sample, "--threads", "3").out)
        self.assertNotEqual(one, self.succeed("sample", "run", "--tokens", "60", "--num-samples", "3").out)

    def test_a_conversation_is_remembered_as_far_back_as_counts_look(self):
        draw = random.Random(1)
        lines = ("".join(draw.choices("ab", k=20)) + "\n" for _ in range(600))  # a line ends after 20 letters
        self.train("lines", "nanogpt-cpu", 5, *SMALL, text="".join(lines))
        talk = ["sample", "lines", "--counts", "--greedy", "--tokens", "8"]
        self.assertRegex(self.succeed(*talk, "--interactive", "complete", stdin=b"aaaaaaaaaa\nab\n").out, r"^a{10}[ab]{8}\nab\n$")
        self.assertNotIn("but the context is", self.succeed(*talk, "--prompt", "a" * 17).err)

    def test_a_text_too_short_to_learn_from_is_said_in_a_line(self):
        self.train("short", "nanogpt-cpu", 5, *SMALL, text=TEXT[:3000])
        outcome = self.succeed("eval", "short", "--counts", "--json")
        self.assertIn("too short to learn how much the counts should weigh", outcome.err)
        self.assertEqual(outcome.json["counts"]["weights"], {"network": 0.5, "counts": 0.5, "learned_on_tokens": 0})

    def test_the_training_text_must_be_there(self):
        self.train("mine", "nanogpt-cpu", 5, *SMALL, text=TEXT[:20000])
        for path in ("mine.txt", "mine/text.safetensors"):
            (self.folder / path).unlink()
        self.write("new.txt", TEXT[:500])
        for command in (["eval", "mine"], ["eval", "mine", "--text", "new.txt"], ["sample", "mine"], ["score", "mine", "new.txt"]):
            self.assertIn("mine.txt", self.fail_with(66, *command, "--counts"))
        self.succeed("eval", "mine", "--text", "new.txt")
