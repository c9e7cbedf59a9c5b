"""What is shown beside a loss: rivals by class, PPMd as 7z packs, and a verdict for each class."""

import math
import shutil
import subprocess

from program import SMALL, TEXT, ProgramTest


class RivalsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "nanogpt-cpu", 20, *SMALL)

    def test_rivals_are_listed_by_class_the_strongest_first(self):
        figures = self.json("eval", "run")
        baselines = figures["baselines"]
        self.assertEqual(figures["class"], "frozen")
        self.assertEqual(baselines["ngram"]["class"], "frozen")
        ppmd = dict(baselines["ppmd"])
        self.assertLess(ppmd.pop("loss"), baselines["ngram"]["loss"])
        self.assertEqual(ppmd, {"class": "adaptive", "variant": "H", "order": 6, "memory_bytes": 1 << 24})
        self.assertEqual(set(baselines), {"uniform", "unigram", "bigram", "trigram", "ngram", "ppmd", "counted_tokens", "measured_tokens"})
        out = self.succeed("eval", "run").out
        rows = [out.index(row) for row in ("this model, val", "frozen rivals\n  counted", "-grams, in windows of 16 ", "    with any context",
                                           "  counted bigrams", "  uniform", "adaptive rival\n  PPMd, knowing the train split")]
        self.assertEqual(rows, sorted(rows))
        order, behind = baselines["ngram"]["order"], figures["loss"] - baselines["ngram"]["loss_in_windows"]
        self.assertEqual(figures["verdict"][0],
                         f"Frozen, in windows of 16: behind counted {order}-grams ({baselines['ngram']['loss_in_windows']:.4f}) by {behind:.4f}.")
        self.assertEqual(figures["verdict"][1], f"PPMd ({baselines['ppmd']['loss']:.4f}), which learns from the text it scores, is ahead by "
                                                f"{figures['loss'] - baselines['ppmd']['loss']:.4f}.")
        kept = self.figures_of("run")
        self.assertEqual((kept["baselines"], kept["verdict"]), (baselines, figures["verdict"]))

    def test_the_verdict_fits_into_80_columns(self):
        self.assertIn(self.json("eval", "run")["verdict"][1], self.fitting_lines(80, "eval", "run"))

    def test_a_mixture_with_counts_is_compared_with_counts_in_any_context(self):
        mixed = self.json("eval", "run", "--counts")
        ngram = mixed["baselines"]["ngram"]
        self.assertIn("--counts (eval, sample) mixes in counts of the training text, for a lower loss.", self.succeed("eval", "run").out)
        self.assertEqual(mixed["verdict"][0], f"Frozen: beats counted {ngram['order']}-grams ({ngram['loss']:.4f}) by {ngram['loss'] - mixed['loss']:.4f}.")

    def test_a_model_that_adapts_is_compared_with_rivals_that_do_and_as_it_was_trained_with_frozen_ones(self):
        frozen, adapted = (self.succeed("eval", "run", "--stride", "8", *adapt).out for adapt in ([], ["--adapt"]))
        self.assertIn("\n--adapt --counts (eval, score) make this model learn too.\n", frozen)
        figures = self.json("eval", "run", "--stride", "8", "--adapt")
        ppmd = figures["baselines"]["ppmd"]["loss"]
        line = next(line for line in frozen.splitlines() if line.startswith("Frozen, "))
        self.assertEqual(figures["verdict"], [line, f"Adapting to the text: behind PPMd ({ppmd:.4f}) by {figures['loss'] - ppmd:.4f}."])
        self.assertIn("\n".join(figures["verdict"]), adapted)
        self.assertNotIn("--adapt (", adapted)
        self.train("pairs", "ladder/bigram", 3)
        self.assertNotIn("--adapt (", self.succeed("eval", "pairs").out)  # which cannot

    def test_the_page_draws_the_strongest_of_each_class_and_says_the_verdict(self):
        data = self.page_of("run", "--no-model")
        figures = self.figures_of("run")
        ngram, rivals = figures["baselines"]["ngram"], figures["baselines"]
        self.assertEqual([(level["name"], level["y"]) for level in data["baselines"]],
                         [(f"counted {ngram['order']}-grams", ngram["loss_in_windows"]), ("PPMd", rivals["ppmd"]["loss"]), ("counted pairs", rivals["bigram"])])
        self.assertEqual(data["verdict"], " ".join(figures["verdict"]))

    def test_models_of_bytes_have_the_same_ppmd_per_byte(self):
        for run in ("characters", "bytes"):
            self.train(run, "nanogpt-cpu", 3, *SMALL, "--units", run, text=TEXT.encode("ascii", "ignore"))
        self.assertEqual(*(self.json("eval", run)["baselines"]["ppmd"] for run in ("characters", "bytes")))

    def test_ppmd_needs_a_folder_for_a_temporary_file(self):
        self.assertIn("TMPDIR", self.fail_with(74, "eval", "run", env={"TMPDIR": str(self.folder / "nowhere")}))

    def test_ppmd_is_what_7z_adds_to_the_train_split(self):
        if not shutil.which("7z"):
            self.skipTest("7z is not here")
        train, sizes = TEXT[:int(0.9 * len(TEXT))], []
        for name, part in (("train", train), ("whole", TEXT)):
            self.write(name, part)
            subprocess.run(["7z", "a", "-mhc=off", "-m0=PPMd:o=6:mem=16m", name + ".7z", name], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
            sizes.append(int.from_bytes((self.folder / (name + ".7z")).read_bytes()[12:20], "little"))
        expected = (sizes[1] - sizes[0]) * 8 * math.log(2) / (len(TEXT) - len(train))
        self.assertAlmostEqual(self.json("eval", "run")["baselines"]["ppmd"]["loss"], expected, places=9)
