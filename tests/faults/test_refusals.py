"""What resuming finds different, damage, divergence, memory and hostile text: each is named, and refused or announced."""

import json
import math
import os
import shutil
import struct

from harness import SAVES, FaultTest, checkpoint, checkpoints, damage, digests, name_of, part, rewrite, weights


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


class DivergenceTest(FaultTest):
    """A rate and a model without normalisation that overflow soon."""

    RECKLESS = ["--norm", "none", "--learning_rate", "1000", "--weight_decay", "1", "--dropout", "0", "--eval_interval", "1"]

    def test_the_last_good_checkpoint_is_finite_and_named(self):
        error = self.fail_with(80, *self.training("run", 2000, *self.RECKLESS))
        self.assertRegex(error, r"^training diverged; lower train.learning_rate = 1000: .*; the last good checkpoint is run/checkpoints/step-\S+$")
        saved = checkpoints(self.folder / "run")
        self.assertTrue(saved)
        for step in saved:
            for value in weights(self.folder / "run", step).values():
                self.assertTrue(all(map(math.isfinite, struct.unpack(f"<{len(value) // 4}f", value))), step)
        self.assertTrue(self.json("inspect", "run", "--verify")["verified"])


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
                                 r"^out of host memory( \(\S+ bytes more were asked for\))?; lower train\.batch_size ")
                self.assertFalse((self.folder / "run").exists())

    def test_too_little_memory_for_libtorch_is_said_to_be_that(self):
        outcome = self.within(self.least_memory() + 100, *self.training("run", 2, "--engine", "libtorch"))
        self.assertEqual(self.error_of(outcome, 81), "out of memory: LibTorch, which --engine libtorch needs, takes about 0.5 GB of address space; "
                                                     "raise the limit (ulimit -v)")
        self.assertFalse((self.folder / "run").exists())


class TerminalTest(FaultTest):
    ESCAPES = "\x1b]0;owned\x07\x1b[31m"

    def without_colour(self, *arguments):
        return self.on_a_terminal(*arguments, environment={**os.environ, "NO_COLOR": "1"})

    def test_a_sample_moves_no_cursor_but_reaches_a_pipe_as_it_is(self):
        self.text.write_text(self.ESCAPES * 200)
        self.whole_run("run", 2)
        self.assertNotIn("\x1b", self.without_colour("sample", "run", "--prompt", self.ESCAPES, "--tokens", "50", "--quiet"))
        self.assertIn("\\x1b]0;owned\\x07", self.without_colour("sample", "run", "--prompt", self.ESCAPES, "--tokens", "5", "--quiet"))
        self.assertTrue(self.succeed("sample", "run", "--prompt", self.ESCAPES, "--tokens", "5").out.startswith(self.ESCAPES))

    def test_json_on_a_terminal_is_the_same_document_without_what_it_obeys(self):
        controls = "\x7f\x9b2J\u202e"
        self.text.write_text(controls * 200)
        self.whole_run("run", 2)
        shown = self.without_colour("sample", "run", "--prompt", controls, "--tokens", "5", "--quiet", "--json")
        for control in controls.replace("2J", ""):
            self.assertNotIn(control, shown)
        piped = self.succeed("sample", "run", "--prompt", controls, "--tokens", "5", "--json").out
        self.assertIn(controls, piped)
        self.assertEqual(json.loads(shown), json.loads(piped))

    def test_names_of_runs_and_configs_move_no_cursor(self):
        run = self.whole_run("run", 2)
        shutil.copytree(run, self.folder / "runs" / ("r" + self.ESCAPES))
        shown = self.without_colour("runs")
        self.assertNotIn("\x1b", shown)
        self.assertIn("r\\x1B]0;owned\\x07", shown)
        last = checkpoint(run, 2)
        rewrite(last, config={**part(last, "config"), "name": "n" + self.ESCAPES})
        error = self.fail_with(65, "inspect", "run")
        self.assertNotIn("\x1b", error)
        self.assertIn("cannot name a folder", error)

    def test_paths_that_are_not_utf8_are_no_reason_to_fail(self):
        run = os.fsdecode(b"r\xff")
        self.succeed(*self.training(run, 2, *SAVES))
        self.succeed(*self.resuming(run, 4))
        self.assertTrue(self.json("inspect", run, "--verify")["verified"])
        self.assertEqual(len(self.json("runs", ".")), 1)

    def test_names_in_a_foreign_checkpoint_move_no_cursor(self):
        run = self.whole_run("run", 2)
        rewrite(checkpoint(run, 2), {"w" + self.ESCAPES: bytes(8)})
        shown = self.without_colour("inspect", "run")
        self.assertNotIn("\x1b", shown)
        error = self.fail_with(65, "sample", "run")
        self.assertNotIn("\x1b", error)
        self.assertIn("w\\x1b]0;owned\\x07", error)
