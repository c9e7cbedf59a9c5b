"""What resuming finds different, damage, memory and hostile text: each is named, and refused or announced."""

import os

from harness import SAVES, FaultTest, checkpoint, damage, part, rewrite


class ResumeTruthTest(FaultTest):
    def test_another_build_processor_library_device_and_engine_are_announced(self):
        newest = checkpoint(self.whole_run("run", 4, *SAVES), 4)
        others = {"program_version": "0.0.1", "libtorch_version": "1.0", "cpu_capability": "VSX", "device": "cuda:7", "engine": "abacus"}
        rewrite(newest, state={**part(newest, "state"), **others})
        err = self.succeed(*self.resuming("run", 6)).err
        for what, then in (("chargpt", "0.0.1"), ("the processor", "VSX"), ("the device", "cuda:7"), ("the engine", "abacus")):
            self.assertIn(f"not bit-exact: {what} was {then} when the checkpoint was written and is ", err)
        self.assertNotIn("LibTorch", err)  # the engine that goes on has none of it

    def test_the_previous_good_checkpoint_is_used_loudly_even_where_quiet(self):
        run = self.whole_run("run", 4, *SAVES)
        damage(checkpoint(run, 4))
        err = self.succeed(*self.resuming("run", 6, "--quiet")).err
        self.assertIn("chargpt: warning: DAMAGED CHECKPOINT: step-00000004 cannot be used (", err)
        self.assertIn("using step-00000002 instead", err)
        self.assert_same_training(self.whole_run("whole", 6, *SAVES), run, 6)


class MemoryTest(FaultTest):
    TOO_LARGE = ["--n_embd", "65536", "--n_layer", "100"]
    LARGE = ["--n_embd", "1024", "--n_head", "8", "--n_layer", "4"]  # 50 million parameters

    def test_a_run_that_cannot_fit_is_refused_before_it_starts(self):
        """More windows in a batch take no more memory on the CPU engine, and are not named there."""
        for lower, *more in ((r"--threads 1, model\.block_size = 8, model\.n_embd = 65536 or model\.n_layer = 100", *self.TOO_LARGE),
                             (r"train\.batch_size = 1048576 \(and raise train\.gradient_accumulation_steps\), model\.block_size = 8, ",
                              "--n_embd", "4096", "--batch_size", "1048576", "--engine", "libtorch")):
            error = self.fail_with(81, *self.training("run", 2, *more))
            self.assertRegex(error, r"^training needs about \S+ [GT]B of memory but only \S+ GB is available; reduce " + lower)

    def test_running_out_of_memory_ends_with_advice_and_leaves_nothing(self):
        """At the weights, the moments, the first step, or what a library asks for: the limits are apart by a few of these."""
        least = self.least_memory()
        for most in (least + 100, least + 300, least + 500, least + 700):
            with self.subTest(most):
                self.assertRegex(self.error_of(self.within(most, *self.training("run", 2, *self.LARGE)), 81),
                                 r"^out of host memory( \(\S+ bytes more were asked for\))?; lower model\.block_size, ")
                self.assertFalse((self.folder / "run").exists())

    def test_too_little_memory_for_libtorch_is_said_to_be_that(self):
        outcome = self.within(self.least_memory() + 100, *self.training("run", 2, "--engine", "libtorch"))
        self.assertEqual(self.error_of(outcome, 81), "out of memory: LibTorch, which --engine libtorch needs, takes about 0.5 GB of address space; "
                                                     "raise the limit (ulimit -v)")
        self.assertFalse((self.folder / "run").exists())


class TerminalTest(FaultTest):
    ESCAPES = "\x1b]0;owned\x07\x1b[31m\x7f\x9b2J\u202e"
    HARMLESS = r"[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]*"  # a terminal ends lines with CR LF

    def test_what_a_terminal_obeys_is_spelled_out_there_and_reaches_a_pipe_as_it_is(self):
        self.text.write_text(self.ESCAPES * 200)
        run, sampling = self.whole_run("run", 2), ["sample", "run", "--prompt", self.ESCAPES, "--tokens", "5"]
        foreign = self.copy(run, "runs/r" + self.ESCAPES)
        rewrite(checkpoint(foreign, 2), {"w" + self.ESCAPES: bytes(8)})
        for words, spelled in ((sampling, r"\x1b]0;owned\x07"), ([*sampling, "--json"], r"\u202e"),
                               (["runs"], r"r\x1B]0;owned\x07"), (["inspect", foreign], r"\x1B]0;owned\x07")):
            with self.subTest(words=words):
                shown = self.on_a_terminal(*words, "--quiet", environment={**os.environ, "NO_COLOR": "1"})
                self.assertRegex(shown, f"^{self.HARMLESS}$")
                self.assertIn(spelled, shown)
        self.assertTrue(self.succeed(*sampling).out.startswith(self.ESCAPES))
        self.assertIn("\x7f\x9b2J\u202e", self.succeed(*sampling, "--json").out)

    def test_an_error_names_what_is_foreign_without_moving_a_cursor(self):
        run = self.whole_run("run", 2)
        last = checkpoint(run, 2)
        rewrite(last, {"w" + self.ESCAPES: bytes(8)})
        self.assertRegex(self.fail_with(65, "sample", "run"), f"^{self.HARMLESS}w\\\\x1B]0;owned\\\\x07{self.HARMLESS}$")
        rewrite(last, config={**part(last, "config"), "name": "n" + self.ESCAPES})
        self.assertRegex(self.fail_with(65, "inspect", "run"), f"^{self.HARMLESS}cannot name a folder{self.HARMLESS}$")

    def test_paths_that_are_not_utf8_are_no_reason_to_fail(self):
        run = os.fsdecode(b"r\xff")
        self.succeed(*self.training(run, 2, *SAVES))
        self.succeed(*self.resuming(run, 4))
        self.assertTrue(self.json("inspect", run, "--verify")["verified"])
        self.assertEqual(len(self.json("runs", ".")), 1)
