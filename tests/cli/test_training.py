"""Training, stopping, resuming, and what a run leaves behind."""

import fcntl
import math
import os
import re
import shutil
import signal
import subprocess
import time

from checkpoints import checkpoint, part, safetensors, weights_file
from program import PROGRAM, QUICK, SAMPLE_TEXT, ProgramTest, command, last_wins, metrics, rows

SMALL_GPT = ["--n_layer", "2", "--n_head", "2", "--n_embd", "16", "--block_size", "16", "--dropout", "0.1", "--warmup_iters", "2",
             "--lr_decay_iters", "30"]


class TrainTest(ProgramTest):
    def test_a_checkpoint_holds_nanogpt_names_and_a_tied_head_once(self):
        self.train("r", "nanogpt-cpu", 1, *SMALL_GPT, "--dropout", "0")
        found, _ = safetensors(weights_file(checkpoint(self.folder / "r", 1)).read_bytes())
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

    def test_dry_run_refuses_to_overwrite_a_run_that_is_in_use(self):
        self.train("r", "ladder/bigram", 1)
        with (self.folder / "r/.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            training = ["train", "ladder/bigram", "--run", "r", "--overwrite", "--max_iters", 1, *QUICK]
            refusal = self.fail_with(75, *training)
            self.assertEqual(self.fail_with(75, *training, "--dry-run"), re.sub(r" \(process \d+\)", "", refusal))

    def test_what_a_script_did_before_it_became_the_program_is_no_part_of_its_seconds(self):
        def seconds(variable):
            script = f'sleep 2; {variable} exec "$@"'
            asked = time.monotonic()
            subprocess.run(["bash", "-c", script, "bash", *command("train", "ladder/bigram", "--run", "r", "--overwrite", "--max_iters", 1, *QUICK, "--quiet")],
                           cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
            wall = time.monotonic() - asked
            return metrics(self.folder / "r", "eval")[-1]["seconds"], wall

        whole, wall = seconds("")
        self.assertGreater(whole, 2)
        own, wall = seconds("CHARGPT_LAUNCHED=$EPOCHREALTIME")
        self.assertLess(own, wall - 2 + 0.05)
        for nonsense in ("CHARGPT_LAUNCHED=9e15", "CHARGPT_LAUNCHED=1", "CHARGPT_LAUNCHED=then"):
            ignored, wall = seconds(nonsense)
            self.assertGreater(ignored, 2, nonsense)
            self.assertLess(ignored, wall + 0.05, nonsense)

    def test_init_from_takes_weights_and_lets_the_vocabulary_grow(self):
        self.train("a", "ladder/bigram", 20)
        self.train("b", "ladder/bigram", 5, "--init_from", "a", text="μῆνιν ἄειδε θεὰ, and the rest in Latin letters. " * 200)
        self.assertIn("θ", part(checkpoint(self.folder / "b", 5), "vocabulary")["symbols"])


class ResumeTest(ProgramTest):
    def assert_same_run(self, whole, parts, step):
        self.assertEqual(*(self.tensors(run, step) for run in (whole, parts)))
        self.assertEqual(*(rows(self.folder / run) for run in (whole, parts)))

    def test_resume_equals_an_uninterrupted_run_bit_for_bit(self):
        options = [*SMALL_GPT, "--log_interval", "1"]
        self.train("whole", "nanogpt-cpu", 30, *options)
        self.train("parts", "nanogpt-cpu", 20, *options)
        self.succeed("resume", "parts", "--max_iters", "30", "--quiet", "--threads", "1")
        self.assert_same_run("whole", "parts", 30)

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


class FailureTest(ProgramTest):
    def test_cuda_on_a_machine_without_it(self):
        if "device cuda" in self.run_program("doctor").out:
            self.skipTest("this machine has a CUDA device")
        self.assertIn("cuda", self.fail_with(69, "train", "ladder/bigram", "--device", "cuda", *QUICK).lower())
