"""eval: its figures, what they are of and on which text, and of which weights."""

import math
import re
import struct

from checkpoints import checkpoint, damage, name_of, rewrite, weights
from program import QUICK, SMALL, TEXT, ProgramTest, UsingTest, metrics


class EvalTest(UsingTest):
    def test_json_has_every_figure_of_the_contract(self):
        figures = self.json("eval", self.run_folder)
        self.assertAlmostEqual(figures["bits_per_char"], figures["loss"] / math.log(2), places=9)
        self.assertAlmostEqual(figures["perplexity"], math.exp(figures["loss"]), places=6)
        self.assertEqual(len(figures["tenths"]), 10)
        self.assertAlmostEqual(sum(figures["tenths"]) / 10, figures["loss"], places=2)  # tenths differ by a character at most
        shown = self.succeed("eval", self.run_folder).out
        self.assertRegex(shown, r"by tenths of the text: [▁▂▃▄▅▆▇█]{10} from \d\.\d{4} to \d\.\d{4} nats\s+per character")
        self.assertIn(f"from {min(figures['tenths']):.4f} to {max(figures['tenths']):.4f} nats", shown)
        self.assertEqual(figures["tokens"], len(TEXT) - int(0.9 * len(TEXT)) - 1)
        self.assertEqual((figures["split"], figures["block_size"]), ("val", 16))
        self.assertIn("step", figures["checkpoint"])
        self.assertAlmostEqual(figures["baselines"]["uniform"], math.log(len(set(TEXT))), places=6)
        for key in ("unigram", "bigram", "trigram"):
            self.assertGreater(figures["baselines"][key], 0)
        self.assertIn(figures["baselines"]["ngram"]["order"], range(1, 9))


class SharedTextTest(UsingTest):
    """A model of data/sample.txt on texts that it was trained on, in part or whole."""

    TRAIN_TEXT = TEXT[:int(0.9 * len(TEXT))]

    def assert_warned(self, percent, *arguments):
        outcome = self.succeed("eval", self.run_folder, *arguments)
        self.assertIn(f"{percent} % of this text also appears in the training text", outcome.out)
        self.assertNotIn("beat", outcome.out.lower())
        figures = self.json("eval", self.run_folder, *arguments)
        self.assertEqual(figures["verdict"], [])
        self.assertEqual(figures["baselines"]["counted_tokens"], len(self.TRAIN_TEXT))
        return figures

    def test_the_train_split_and_the_whole_text_are_known(self):
        figures = self.assert_warned(100, "--split", "train")
        self.assertEqual(figures["part_in_training_text"], 1)
        figures = self.assert_warned(90, "--split", "all")
        self.assertAlmostEqual(figures["part_in_training_text"], 0.9, delta=0.01)

    def test_the_part_of_another_text_that_stands_in_the_training_text_is_said(self):
        self.write("mixed.txt", TEXT[-2500:] + self.TRAIN_TEXT[3000:8000])
        figures = self.assert_warned(67, "--text", "mixed.txt")
        self.assertAlmostEqual(figures["part_in_training_text"], 2 / 3, delta=0.005)

    def test_a_text_of_which_a_little_is_new_is_not_known_whole(self):
        self.write("almost.txt", self.TRAIN_TEXT + TEXT[:100][::-1])  # 99.6 %
        self.assertIn("99 % of this text also appears in the training text", self.succeed("eval", self.run_folder, "--text", "almost.txt").out)

    def test_a_part_of_another_text_is_held_out_from_no_training(self):
        self.write("other.txt", TEXT[-2700:] + self.TRAIN_TEXT[3000:3300])  # whose last tenth is known
        other = ["eval", self.run_folder, "--text", "other.txt", "--split", "val"]
        self.assertIn("% of this text also appears in the training text", self.succeed(*other).out)
        self.assertEqual(self.json(*other)["verdict"], [])

    def test_the_validation_split_is_as_before(self):
        outcome = self.succeed("eval", self.run_folder)
        self.assertIn("PPMd, knowing the train split", outcome.out)
        self.assertNotIn("appears in", outcome.out)
        self.assertEqual(self.json("eval", self.run_folder)["part_in_training_text"], 0)


class WhatAFigureIsOfTest(ProgramTest):
    def test_overlap_is_named(self):
        self.train("r", "nanogpt-cpu", 3, *SMALL)
        out = self.succeed("eval", "r", "--stride", "4").out
        self.assertEqual(out.count("in windows of 16 that begin every 4"), 3)  # the model's loss, counting cut alike, and the verdict
        figures, apart = (self.json("eval", "r", "--stride", stride) for stride in ("4", "0"))
        self.assertEqual((figures["stride"], figures["units"]), (4, "characters"))
        self.assertLess(figures["baselines"]["ngram"]["loss_in_windows"], apart["baselines"]["ngram"]["loss_in_windows"])
        self.assertEqual(figures["baselines"]["ngram"]["loss"], apart["baselines"]["ngram"]["loss"])

    def test_the_bytes_of_a_character_are_shown_as_one(self):
        self.train("r", "ladder/bigram", 3, "--units", "bytes")
        self.write("text", "Πέτρος α < β".encode() + b"\xce")
        shown = re.sub(r"\x1b\[[0-9;]*m", "", self.succeed("score", "r", "text", "--color", "always", "--html", "text.html").out)
        self.assertIn("Πέτρος α < β\\xce\n", shown)
        html = re.sub(r"</?b[^>]*>", "", (self.folder / "text.html").read_text(encoding="utf-8"))
        self.assertIn("Πέτρος α &lt; β\\xce</pre>", html)

    def test_weights_that_are_not_numbers_are_refused_by_every_command_that_reads_them(self):
        self.train("r", "nanogpt-cpu", 3, *SMALL)
        nan = struct.pack("<f", math.nan)
        rewrite(checkpoint(self.folder / "r", 3), {name: nan * (len(value) // 4) for name, value in weights(self.folder / "r", 3).items()})
        for words in (["eval", "r"], ["sample", "r"], ["score", "r"], ["audit", "r"], ["attention", "r", "--prompt", "a"], ["explain", "r", "--prompt", "a"],
                      ["page", "r"], ["export", "r", "--out", "x"], ["bench", "sample", "r"], ["resume", "r", "--max_iters", "9"],
                      ["train", "r/config.json", "--init_from", "r", "--run", "new"]):
            with self.subTest(words=words):
                outcome = self.run_program(*words)
                self.assertEqual(outcome.code, 80, outcome.err)
                self.assertRegex(outcome.error, rf"r/checkpoints/{name_of(3)}\S*: tensor (lm_head|transformer)\.\S+ holds NaN at place 0, so the model cannot be "
                                                r"used; use another checkpoint")


class OneLossTest(ProgramTest):
    def test_a_checkpoint_of_a_bfloat16_run_has_the_loss_that_it_had_while_it_trained_by_either_engine(self):
        for run in ("auto", "libtorch"):
            self.succeed("train", "nanogpt-cpu", "--run", run, "--max_iters", "40", *SMALL, *QUICK, "--learning_rate", "0.03", "--dtype", "bfloat16",
                         "--engine", run, "--quiet")
            recorded = metrics(self.folder / run, "eval")[-1]["val_loss"]
            loss = self.json("eval", run, "--checkpoint", "last")["loss"]
            self.assertAlmostEqual(loss, recorded, delta=0 if run == "auto" else 1e-5)


class AveragedWeightsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("r", "ladder/bigram", 40, "--ema", "0.9", "--learning_rate", "0.05")

    def test_trained_and_averaged_weights_are_scored_apart_and_the_better_by_default(self):
        losses = {weights: self.json("eval", "r", "--checkpoint", "last", "--weights", weights)["loss"]
                  for weights in ("trained", "averaged", "better")}
        self.assertNotEqual(losses["trained"], losses["averaged"])
        self.assertEqual(losses["better"], min(losses["trained"], losses["averaged"]))
        last = metrics(self.folder / "r", "eval")[-1]
        self.assertAlmostEqual(last["val_loss"], losses["trained"], places=6)
        self.assertAlmostEqual(last["averaged_val_loss"], losses["averaged"], places=6)

    def test_damage_is_found(self):
        self.assertTrue(self.json("inspect", "r", "--verify")["verified"])
        damage(checkpoint(self.folder / "r", 40))
        self.assertIn(name_of(40), self.fail_with(65, "inspect", f"r/checkpoints/{name_of(40)}", "--verify"))
