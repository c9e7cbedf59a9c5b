"""eval: its figures, what they are of and on which text, and of which weights."""

import math
import re
import struct

from program import QUICK, SMALL, TEXT, ProgramTest, UsingTest, metrics, rewrite, safetensors


def poison(checkpoint):
    """Every weight becomes NaN, and the manifest says so."""
    data = bytearray((checkpoint / "model.safetensors").read_bytes())
    _, begin = safetensors(data)
    data[begin:] = struct.pack("<f", math.nan) * ((len(data) - begin) // 4)
    rewrite(checkpoint, "model.safetensors", data)


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
        for key in ("unigram", "bigram", "trigram", "gzip", "xz"):
            self.assertGreater(figures["baselines"][key], 0)
        self.assertIn(figures["baselines"]["ngram"]["order"], range(1, 9))

    def test_a_given_text_is_scored_whole(self):
        figures = self.json("eval", self.run_folder, "--text", self.write("other.txt", "The same letters, another text. "))
        self.assertEqual((figures["split"], figures["tokens"]), ("all", 31))

    def test_unknown_characters_of_a_text_are_left_out_or_replaced(self):
        known, text = "It is the letter of the law. " * 20, "It is\u263a the let\u263ater of the law. " * 20
        self.write("known.txt", known)
        self.write("text.txt", text)
        self.write("replaced.txt", text.replace("\u263a", "?"))
        self.assertIn("--unknown", self.succeed("eval", "--help").out)
        refused = self.fail_with(65, "eval", self.run_folder, "--text", "text.txt")
        self.assertRegex(refused, "never seen: '\u263a' .* leave them out, or --unknown skip$")
        for policy, same in [("skip", "known.txt"), ("replace", "replaced.txt")]:
            ours = self.succeed("eval", self.run_folder, "--text", "text.txt", "--unknown", policy, "--json")
            self.assertIn("(40 times)", ours.err)
            self.assertEqual(ours.json["loss"], self.json("eval", self.run_folder, "--text", same)["loss"])
        self.write("many.txt", known + "".join(map(chr, range(0x10000, 0x10000 + 33000))))  # more than data.max_symbols
        self.assertEqual(self.json("eval", self.run_folder, "--text", "many.txt", "--unknown", "skip")["loss"],
                         self.json("eval", self.run_folder, "--text", "known.txt")["loss"])
        self.write("foreign.txt", "\u263a\u263b" * 50)
        self.assertIn("no character that the model knows", self.fail_with(65, "eval", self.run_folder, "--text", "foreign.txt", "--unknown", "skip"))

    def test_evaluation_has_no_randomness(self):
        one, other = ({key: value for key, value in self.json("eval", self.run_folder).items()
                       if key not in ("seconds", "tokens_per_second")} for _ in range(2))
        self.assertEqual(one, other)

    def test_overlapping_windows_score_each_character_once(self):
        self.assertEqual(*(self.json("eval", self.run_folder, *stride)["tokens"] for stride in ([], ["--stride", "4"])))


class NothingCountedOnWhatIsScoredTest(UsingTest):
    """A model of data/sample.txt on texts that it was trained on, in part or whole."""

    TRAIN_TEXT = TEXT[:int(0.9 * len(TEXT))]

    def assert_nothing_counted(self, *arguments):
        outcome = self.succeed("eval", self.run_folder, *arguments)
        for claim in ("counted unigrams", "xz", "beat"):
            self.assertNotIn(claim, outcome.out)
        self.assertIn("No counted baselines: scored text is not counted", outcome.out)
        figures = self.json("eval", self.run_folder, *arguments)
        self.assertEqual(set(figures["baselines"]), {"uniform", "gzip", "classes", "counted_tokens", "left_out_tokens", "measured_tokens"})
        self.assertEqual(figures["baselines"]["classes"], {"frozen": ["uniform"], "adaptive": ["gzip"]})
        self.assertEqual(figures["verdict"], [])
        self.assertEqual((figures["baselines"]["counted_tokens"], figures["baselines"]["left_out_tokens"]), (0, len(self.TRAIN_TEXT)))
        return outcome.out, figures

    def test_the_train_split_and_the_whole_text_have_no_counted_baseline(self):
        out, figures = self.assert_nothing_counted("--split", "train")
        self.assertIn("100 % of this text also appears in the training text", out)
        self.assertEqual(figures["part_in_training_text"], 1)
        out, figures = self.assert_nothing_counted("--split", "all")
        self.assertIn("90 % of this text also appears in the training text", out)
        self.assertAlmostEqual(figures["part_in_training_text"], 0.9, delta=0.01)

    def test_the_training_text_under_another_name_is_the_same_text(self):
        self.write("copy.txt", TEXT)
        out, _ = self.assert_nothing_counted("--text", "copy.txt")
        self.assertEqual(out, self.succeed("eval", self.run_folder, "--split", "all").out)

    def test_what_of_another_text_stands_in_the_training_text_is_told_and_not_counted(self):
        part = self.TRAIN_TEXT[3000:8000]
        self.write("mixed.txt", TEXT[-2500:] + part)
        out = self.succeed("eval", self.run_folder, "--text", "mixed.txt").out
        self.assertIn("67 % of this text also appears in the training text (in stretches of 64 characters or more)", out)
        self.assertIn("that are also scored.", out)
        self.assertIn("xz, knowing what is counted", out)
        self.assertNotIn("beat", out)
        figures = self.json("eval", self.run_folder, "--text", "mixed.txt")
        self.assertAlmostEqual(figures["part_in_training_text"], 2 / 3, delta=0.005)
        baselines = figures["baselines"]
        self.assertEqual(baselines["counted_tokens"] + baselines["left_out_tokens"], len(self.TRAIN_TEXT))
        self.assertAlmostEqual(baselines["left_out_tokens"], len(part), delta=10)
        self.assertGreater(baselines["ngram"]["loss"], 1.5)  # 0.6 where the part is counted
        self.assertGreater(baselines["xz"], 1.5)

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
        self.assertIn("xz, knowing the train split", outcome.out)
        self.assertNotIn("appears in", outcome.out)
        self.assertEqual(self.json("eval", self.run_folder)["part_in_training_text"], 0)


class WhatAFigureIsOfTest(ProgramTest):
    def test_a_part_of_what_is_held_out_is_called_a_part(self):
        self.train("r", "ladder/bigram", 3, "--max_val_tokens", "1000")
        held_out = len(TEXT) - int(0.9 * len(TEXT))
        outcome = self.succeed("eval", "r")
        self.assertIn(f"999 characters, each scored once, in windows of 8\nThey are only the first of {held_out:,} characters held out "
                      "(data.max_val_tokens).", outcome.out)
        self.assertEqual(self.json("eval", "r")["part"], {"tokens": 1000, "of": held_out})
        self.assertEqual(self.json_of("r/figures.json")["part"], {"tokens": 1000, "of": held_out})
        whole = self.succeed("eval", "r", "--split", "all", "--json")
        self.assertNotIn("part", whole.json)
        self.assertNotIn("max_val_tokens", whole.err)

    def test_overlap_is_named(self):
        self.train("r", "nanogpt-cpu", 3, *SMALL)
        out = self.succeed("eval", "r", "--stride", "4").out
        self.assertEqual(out.count("in windows of 16 that begin every 4"), 3)  # the model's loss, counting cut alike, and the verdict
        figures, apart = (self.json("eval", "r", "--stride", stride) for stride in ("4", "0"))
        self.assertEqual((figures["stride"], figures["units"]), (4, "characters"))
        self.assertLess(figures["baselines"]["ngram"]["loss_in_windows"], apart["baselines"]["ngram"]["loss_in_windows"])
        self.assertEqual(figures["baselines"]["ngram"]["loss"], apart["baselines"]["ngram"]["loss"])

    def test_bits_are_nats_by_the_logarithm_of_two(self):
        self.train("r", "ladder/bigram", 3)
        rows = re.findall(r"^ *(\S.*?) {2,}(\d+\.\d+) +(\d+\.\d+)$", self.succeed("eval", "r").out, re.MULTILINE)
        self.assertGreater(len(rows), 4)
        for name, nats, bits in rows:
            self.assertAlmostEqual(float(bits), float(nats) / math.log(2), delta=2e-4, msg=name)

    def test_a_byte_model_is_measured_in_bytes(self):
        self.train("r", "ladder/bigram", 3, "--units", "bytes")
        out = self.succeed("eval", "r").out
        self.assertIn("nats/byte  bits/byte", out)
        self.assertIn(" bytes, each scored once", out)
        self.assertNotIn("character", out)

    def test_the_bytes_of_a_character_are_shown_as_one(self):
        self.train("r", "ladder/bigram", 3, "--units", "bytes")
        self.write("text", "Πέτρος α < β".encode() + b"\xce")
        shown = re.sub(r"\x1b\[[0-9;]*m", "", self.succeed("score", "r", "text", "--color", "always", "--html", "text.html").out)
        self.assertIn("Πέτρος α < β\\xce\n", shown)
        html = re.sub(r"</?b[^>]*>", "", (self.folder / "text.html").read_text(encoding="utf-8"))
        self.assertIn("Πέτρος α &lt; β\\xce</pre>", html)

    def test_weights_that_are_not_numbers_are_refused_by_every_command_that_reads_them(self):
        self.train("r", "nanogpt-cpu", 3, *SMALL)
        poison(self.folder / "r/checkpoints/step-00000003")
        for words in (["eval", "r"], ["sample", "r"], ["score", "r"], ["audit", "r"], ["attention", "r", "--prompt", "a"], ["explain", "r", "--prompt", "a"],
                      ["page", "r"], ["export", "r", "--format", "nanogpt", "--out", "x"], ["bench", "sample", "r"], ["resume", "r", "--max_iters", "9"],
                      ["train", "r/config.json", "--init_from", "r", "--run", "new"]):
            with self.subTest(words=words):
                outcome = self.run_program(*words)
                self.assertEqual(outcome.code, 80, outcome.err)
                self.assertRegex(outcome.error, r"r/checkpoints/step-00000003\S*: tensor (lm_head|transformer)\.\S+ holds NaN at place 0, so the model cannot be "
                                                r"used; use another checkpoint")


class OneLossTest(ProgramTest):
    def test_a_checkpoint_of_a_bfloat16_run_has_the_loss_that_it_had_while_it_trained_by_either_engine(self):
        for run in ("auto", "libtorch"):
            self.succeed("train", "nanogpt-cpu", "--run", run, "--max_iters", "40", *SMALL, *QUICK, "--learning_rate", "0.03", "--dtype", "bfloat16",
                         "--engine", run, "--quiet")
            trained_by = metrics(self.folder / run)[0]["engine"]  # a processor without bfloat16 leaves both to LibTorch
            recorded = metrics(self.folder / run, "eval")[-1]["val_loss"]
            loss = self.json("eval", run, "--checkpoint", "last")["loss"]
            self.assertAlmostEqual(loss, recorded, delta=0 if trained_by == "cpu" else 1e-5)


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

    def test_the_choice_is_said_aloud(self):
        self.assertRegex(self.succeed("sample", "r", "--tokens", "3").err,
                         r"using the (averaged|trained) weights of step-0+\d+ \(validation loss: trained \d\.\d+, averaged \d\.\d+\)")
        self.assertIn("using the averaged weights", self.succeed("sample", "r", "--tokens", "3", "--weights", "averaged").err)

    def test_a_checkpoint_without_averaged_weights_says_so(self):
        self.train("plain", "ladder/bigram", 3)
        self.assertIn("has no averaged weights", self.fail_with(2, "eval", "plain", "--weights", "averaged"))
        self.assertNotIn("weights of", self.succeed("eval", "plain").err)

    def test_every_file_is_verified(self):
        averaged = self.folder / "r/checkpoints/step-00000040/averaged.safetensors"
        self.assertTrue(self.json("inspect", "r", "--verify")["verified"])
        data = bytearray(averaged.read_bytes())
        data[-1] ^= 1
        averaged.write_bytes(data)
        self.assertIn("averaged.safetensors", self.fail_with(65, "inspect", "r/checkpoints/step-00000040", "--verify"))
