"""eval and score: figures and verdicts, alone, with counts, adapting, and of several runs as one; of which text and of which weights they are."""

import json
import math
import struct

from checkpoints import checkpoint, name_of, rewrite, weights
from program import QUICK, SMALL, TEXT, ProgramTest, files, metrics

TRAIN, TEST = int(0.9 * len(TEXT)), int(0.8 * len(TEXT))  # where the train split ends, and without a test split's last fifth
SPLIT = ["--val_fraction", "0.1", "--test_fraction", "0.2"]
MIXED = ([], ["--counts"], ["--adapt"], ["--adapt", "--counts"])


class EvalTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("a", "nanogpt-cpu", 60, *SMALL)
        self.train("b", "nanogpt-cpu", 20, *SMALL, "--seed", "7")
        self.write("text.txt", TEXT[5000:5100])

    def test_the_figures_belong_together(self):
        figures = self.json("eval", "a")
        baselines, ppmd = figures["baselines"], dict(figures["baselines"]["ppmd"])
        self.assertAlmostEqual(figures["bits_per_char"], figures["loss"] / math.log(2), places=9)
        self.assertAlmostEqual(figures["bits_per_byte"] * len(TEXT[TRAIN + 1:].encode()), figures["bits_per_char"] * figures["tokens"], places=6)
        self.assertAlmostEqual(figures["perplexity"], math.exp(figures["loss"]), places=6)
        self.assertAlmostEqual(sum(figures["tenths"]) / 10, figures["loss"], places=2)  # tenths differ by a character at most
        self.assertEqual((figures["tokens"], figures["split"], figures["block_size"], figures["class"]), (len(TEXT) - TRAIN - 1, "val", 16, "frozen"))
        self.assertAlmostEqual(baselines["uniform"], math.log(len(set(TEXT))), places=6)
        self.assertLess(ppmd.pop("loss"), baselines["ngram"]["loss"])
        self.assertEqual(ppmd, {"class": "adaptive"})
        self.assertEqual(set(baselines), {"uniform", "unigram", "bigram", "trigram", "ngram", "ppmd", "counted_tokens", "measured_tokens"})
        shown = self.succeed("eval", "a").out
        self.assertIn(f"from {min(figures['tenths']):.4f} to {max(figures['tenths']):.4f} nats", shown)
        kept = self.figures_of("a")
        self.assertEqual((kept["baselines"], kept["verdict"]), (baselines, figures["verdict"]))
        page = self.page_of("a", "--no-model")
        self.assertEqual([(level["name"], level["y"]) for level in page["baselines"]],
                         [(f"counted {baselines['ngram']['order']}-grams", baselines["ngram"]["loss_in_windows"]), ("PPMd", baselines["ppmd"]["loss"]),
                          ("counted pairs", baselines["bigram"])])
        self.assertEqual(page["verdict"], " ".join(figures["verdict"]))

    def test_verdicts_compare_with_rivals_of_the_same_class(self):
        frozen, counts, adapts, both = (self.json("eval", "a", "--stride", "8", *options) for options in MIXED)
        ngram, ppmd = frozen["baselines"]["ngram"], frozen["baselines"]["ppmd"]["loss"]
        self.assertEqual([figures["class"] for figures in (frozen, counts, adapts, both)], ["frozen", "frozen", "adaptive", "adaptive"])
        first, second = frozen["verdict"]
        self.assertEqual(first, f"It is behind counted {ngram['order']}-grams in windows of 16 that begin every 8 ({ngram['loss_in_windows']:.4f}) by "
                                f"{frozen['loss'] - ngram['loss_in_windows']:.4f}.")
        self.assertEqual(second, f"It is behind PPMd ({ppmd:.4f}), a compressor that learns as it reads, by {frozen['loss'] - ppmd:.4f}.")
        self.assertEqual(counts["verdict"][0], f"It beats counted {ngram['order']}-grams ({ngram['loss']:.4f}) by {ngram['loss'] - counts['loss']:.4f}.")
        self.assertEqual([both["verdict"][0], *adapts["verdict"]], 2 * [first.replace("It", "As trained, it")] + [f"Adapting to the text, it is behind PPMd ({ppmd:.4f}) by {adapts['loss'] - ppmd:.4f}."])

    def test_counts_and_learning_lower_the_loss_of_one_run_and_of_several_and_leave_the_weights(self):
        before = files(self.folder / "a/checkpoints")
        for runs in (["a"], ["a", "b"]):
            plain, counts, adapt, both = (self.json("eval", *runs, "--stride", "8", *options) for options in MIXED)
            for figures in (counts, adapt, both):
                self.assertEqual((figures["network_loss"], figures["tokens"]), (plain["loss"], plain["tokens"]))
                self.assertLess(figures["loss"], plain["loss"] - 0.02)
            self.assertLess(both["loss"], min(counts["loss"], adapt["loss"]))
            self.assertEqual((both["adaptation"], adapt["adaptation"]), 2 * ({"rate": 0.0002, "decay": 0.0005},))
            self.assertAlmostEqual(sum(adapt["tenths"]) / 10, adapt["loss"], places=3)
            learned = counts["counts"]
            self.assertEqual((learned["counted_tokens"], learned["learned_on_tokens"]), (TRAIN, TRAIN // 20 - 1))
        self.assertEqual(files(self.folder / "a/checkpoints"), before)
        adaptation = self.json("eval", "a", "--adapt=auto")["adaptation"]
        least = min(trial["loss"] for trial in adaptation["trials"])
        self.assertEqual((adaptation["chosen_on_tokens"], adaptation["rate"]),
                         (TRAIN // 20, max(trial["rate"] for trial in adaptation["trials"] if trial["loss"] <= least + 0.001)))

    def test_each_character_has_a_distribution_that_no_later_one_changes(self):
        for runs, *options in ((["a"], "--counts"), (["a", "b"],), (["a", "b"], "--counts")):
            with self.subTest(runs=runs, options=options):
                self.check_causal_distributions(runs, *options)

    def test_while_it_learns_probabilities_sum_to_one_and_no_later_character_changes_them(self):
        few = "".join("abcdef"[ord(character) % 6] for character in TEXT)
        for name in ("c", "d"):
            self.train(name, "nanogpt-cpu", 5, *SMALL, "--seed", str(ord(name)), text=few[:12000])
        losses = []
        for symbol in "abcdef":
            self.write("text.txt", few[20000:20060] + symbol)
            losses.append(self.json("score", "c", "d", "text.txt", "--adapt", "--counts")["losses"])
        self.assertAlmostEqual(sum(math.exp(-each[59]) for each in losses), 1, places=5)
        for each in losses:
            self.assertEqual(each[:59], losses[0][:59])

    def test_score_gives_each_character_its_loss_or_that_of_the_mean_by_any_number_of_threads(self):
        for options in ([], ["--adapt"]):
            alone, both = [self.json("score", run, "text.txt", *options) for run in "ab"], self.json("score", "a", "b", "text.txt", *options)
            for x, y, mean in zip(alone[0]["losses"], alone[1]["losses"], both["losses"], strict=True):
                self.assertAlmostEqual(mean, -math.log((math.exp(-x) + math.exp(-y)) / 2), places=4)
            self.assertEqual([(member["run"], member["checkpoint"]) for member in both["members"]], [(run, one["checkpoint"]) for run, one in zip("ab", alone)])
            self.assertEqual(both["losses"], self.json("score", "a", "b", "-", *options, "--threads", "2", stdin=TEXT[5000:5100].encode())["losses"])
        frozen, adaptive = (self.json("score", "a", "text.txt", *options)["losses"] for options in MIXED[::2])
        self.assertEqual(frozen[:16], adaptive[:16])  # the first window, before anything was learned
        self.assertNotEqual(frozen[16:], adaptive[16:])

    def test_several_runs_have_the_loss_of_the_mean_and_write_from_it(self):
        alone, both = [self.json("eval", run) for run in "ab"], self.json("eval", "a", "b")
        self.assertEqual([member["loss"] for member in both["members"]], [figures["loss"] for figures in alone])
        self.assertLess(both["loss"], sum(figures["loss"] for figures in alone) / 2)
        self.assertEqual((both["tokens"], both["baselines"]), (alone[0]["tokens"], alone[0]["baselines"]))
        chances = self.json("score", "a", "b", "-", "--candidates", "1000", stdin=b"\nThe ")["scores"][3]["candidates"]
        best, share = chances[0]["character"], math.exp(chances[0]["log_probability"])
        prompt = ["sample", "a", "b", "--prompt", "\nThe", "--tokens", "1"]
        self.assertEqual(self.succeed(*prompt, "--greedy").out, f"\nThe{best}\n")
        count = 2000
        drawn = [json.loads(line)["text"] for line in self.succeed(*prompt, "--num-samples", count, "--temperature", "1", "--json").out.splitlines()]
        self.assertAlmostEqual(drawn.count(best) / count, share, delta=4 * math.sqrt(share * (1 - share) / count))

    def test_weights_that_are_not_numbers_are_refused_by_every_command_that_reads_them(self):
        self.train("r", "nanogpt-cpu", 3, *SMALL)
        nan = struct.pack("<f", math.nan)
        rewrite(checkpoint(self.folder / "r", 3), {name: nan * (len(value) // 4) for name, value in weights(self.folder / "r", 3).items()})
        for words in ("eval r", "sample r", "score r", "audit r", "attention r --prompt a", "explain r --prompt a", "page r", "export r --out x",
                      "bench sample r", "resume r --max_iters 9", "train r/config.json --init_from r --run new"):
            with self.subTest(words):
                self.assertRegex(self.fail_with(80, *words.split()), rf"r/checkpoints/{name_of(3)}\S*: tensor (lm_head|transformer)\.\S+ holds NaN at place 0, "
                                                                     "so the model cannot be used; use another checkpoint")

    def test_a_checkpoint_of_a_bfloat16_run_has_the_loss_that_it_had_while_it_trained_by_either_engine(self):
        for run in ("auto", "libtorch"):
            self.train(run, "nanogpt-cpu", 40, *SMALL, "--learning_rate", "0.03", "--dtype", "bfloat16", "--engine", run)
            recorded = metrics(self.folder / run, "eval")[-1]["val_loss"]
            loss = self.json("eval", run, "--checkpoint", "last")["loss"]
            self.assertAlmostEqual(loss, recorded, delta=0 if run == "auto" else 1e-5)

    def test_trained_and_averaged_weights_are_scored_apart_and_the_better_by_default(self):
        self.train("r", "nanogpt-cpu", 40, *SMALL, "--ema", "0.9", "--learning_rate", "0.05")
        trained, averaged, better = (self.json("eval", "r", "--checkpoint", "last", "--weights", which)["loss"] for which in ("trained", "averaged", "better"))
        self.assertNotEqual(trained, averaged)
        self.assertEqual(better, min(trained, averaged))
        last = metrics(self.folder / "r", "eval")[-1]
        self.assertAlmostEqual(last["val_loss"], trained, places=6)
        self.assertAlmostEqual(last["averaged_val_loss"], averaged, places=6)


class HeldOutTest(ProgramTest):
    def test_what_stands_in_the_test_split_changes_nothing_else(self):
        runs = []
        for name, text in (("mine", TEXT), ("other", TEXT[:TEST] + TEXT[TEST:][::-1])):
            self.train(name, "nanogpt-cpu", 20, *SMALL, *SPLIT, text=text)
            evals, figures, adapted = metrics(self.folder / name), self.json("eval", name), self.json("eval", name, "--adapt=auto", "--counts")
            alike = [(one["step"], one.get("loss"), one.get("val_loss"), one.get("train_loss")) for one in evals if one["kind"] in ("train", "eval")]
            runs.append((alike, figures["loss"], figures["baselines"], adapted["loss"], adapted["adaptation"], adapted["counts"]))
        train = int(0.7 * len(TEXT))
        self.assertEqual([evals[0][f"{part}_tokens"] for part in ("train", "val", "test")], [train, TEST - train, len(TEXT) - TEST])
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(*(self.json("eval", name, "--split", "test")["loss"] for name in ("mine", "other")))
