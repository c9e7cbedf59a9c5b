"""Training, stopping, resuming, and what a run leaves behind."""

import math
import os
import re
import shutil
import signal
import subprocess

from checkpoints import checkpoint, safetensors
from program import PROGRAM, QUICK, SAMPLE_TEXT, ProgramTest, last_wins

SMALL_GPT = ["--n_layer", "2", "--n_head", "2", "--n_embd", "16", "--block_size", "16", "--dropout", "0.1", "--warmup_iters", "2",
             "--lr_decay_iters", "30"]


class TrainTest(ProgramTest):
    def test_a_checkpoint_holds_nanogpt_names_and_a_tied_head_once(self):
        self.train("r", "nanogpt-cpu", 1, *SMALL_GPT, "--dropout", "0")
        found, _ = safetensors(checkpoint(self.folder / "r", 1).read_bytes())
        self.assertEqual([found["transformer.h.0.attn.c_attn.weight"][key] for key in ("dtype", "shape")], ["F32", [48, 16]])
        self.assertIn("transformer.wte.weight", found)
        self.assertNotIn("lm_head.weight", found)

    def test_the_formula_that_refuses_a_run_is_within_half_of_the_memory_that_a_dry_run_measures(self):
        def options(C, L, T, B, threads, engine):
            return ["--n_embd", C, "--n_layer", L, "--n_head", 2, "--block_size", T, "--batch_size", B, "--threads", threads, "--engine", engine]

        def formula(C, L, T, B, threads, engine):
            cpu = engine == "cpu"
            parameters, tokens = 12 * C * C * L, min(threads, B) * max(T, 128) if cpu else B * T
            layers = max(tokens * L, 0 if cpu else 4096)  # 4,096 tokens of an evaluation, one layer at a time
            return 4 * ((5 + min(threads, B) if cpu else 4) * parameters + layers * (12 * C + 3 * 4 * C))

        def measured(*shape):
            return self.json("train", "nanogpt-cpu", *options(*shape), "--max_iters", 1, "--text", SAMPLE_TEXT, "--dry-run")["memory_bytes"]

        # many parameters; many tokens
        for engine, *shapes in (("cpu", (256, 8, 16, 8, 4), (32, 8, 1024, 4, 2)), ("libtorch", (256, 6, 32, 4, 1), (32, 8, 64, 64, 1))):
            smallest = measured(8, 1, 16, 1, 1, engine)
            for shape in shapes:
                with self.subTest(shape=shape, engine=engine):
                    peak = measured(*shape, engine) - smallest
                    self.assertLess(abs(math.log(peak / formula(*shape, engine))), math.log(1.5), f"{peak} measured")
        error = self.fail_with(81, "train", "nanogpt-cpu", *options(65536, 100, 64, 12, 1, "cpu"), "--text", SAMPLE_TEXT)
        needed = float(re.search(r"^training needs about (\S+) TB of memory", error)[1]) * 1e12
        self.assertAlmostEqual(needed / formula(65536, 100, 64, 12, 1, "cpu"), 1, delta=0.05)


class ResumeTest(ProgramTest):

    def stop_by(self, number, *options):
        process = self.started(*last_wins(["train", "nanogpt-cpu", "--run", "parts", "--max_iters", "100000", *SMALL_GPT, *QUICK, *options]))
        self.wait_for_save("parts")
        return self.ended_by(process, number)

    def test_signals_finish_the_step_save_and_print_the_resume_line(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(number):
                self.assertIn("chargpt resume parts", self.stop_by(number))
                self.assertTrue(self.json("inspect", "parts", "--verify")["verified"])
                shutil.rmtree(self.folder / "parts")

    def test_the_printed_line_goes_on_to_the_same_bits_whatever_threads_and_engine_the_run_was_given(self):
        more_than_there_are = str(len(os.sched_getaffinity(0)) + 1)
        for threads, line in (("1", "chargpt resume parts"), (more_than_there_are, f"chargpt resume parts --threads {more_than_there_are}")):
            for engine in ("libtorch", "cpu"):
                with self.subTest(threads=threads, engine=engine):
                    options = ["--threads", threads, "--engine", engine]
                    err = self.stop_by(signal.SIGTERM, *options)
                    self.assertIn(line, [part.strip() for part in re.sub("chargpt: (→ )?", "", err).splitlines()])
                    step = self.json("inspect", "parts")["step"] + 5
                    # not by succeed(), which may add an --engine
                    resumed = subprocess.run([PROGRAM, *line.split()[1:], "--max_iters", str(step)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.PIPE, check=True).stderr.decode()
                    self.assertNotIn("not bit-exact", resumed)
                    self.train("whole", "nanogpt-cpu", step, *SMALL_GPT, *options)
                    self.assertEqual(self.tensors("whole", step), self.tensors("parts", step))
                    for run in ("parts", "whole"):
                        shutil.rmtree(self.folder / run)


class ListTest(ProgramTest):
    def test_a_run_under_way_is_listed_as_running_and_a_killed_one_as_unknown(self):
        process = self.started(*last_wins(["train", "nanogpt-cpu", "--run", "run", "--max_iters", 10**9, *SMALL_GPT, *QUICK]), stderr=subprocess.DEVNULL)
        self.wait_for_save("run")
        for ended in ("running", "unknown"):
            self.assertIn(f" {ended} ", self.succeed("runs", ".").out)
            process.kill()
            process.wait()
