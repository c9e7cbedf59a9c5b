"""Training, stopping, resuming, and what a run leaves behind."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time

from program import PROGRAM, QUICK, SAMPLE_TEXT, ProgramTest, command, last_wins, metrics, rows, safetensors, tensors

SMALL_GPT = ["--n_layer", "2", "--n_head", "2", "--n_embd", "16", "--block_size", "16", "--dropout", "0.1", "--warmup_iters", "2",
             "--lr_decay_iters", "30"]


class TrainTest(ProgramTest):
    def test_ends_with_loss_baselines_and_a_sample_and_leaves_a_complete_run_folder(self):
        out, run = self.train("r").out, self.folder / "r"
        for word in ("this model, val", "uniform", "counted bigrams", "gzip", "xz", "by tenths of the text: "):
            self.assertIn(word, out)
        for name in ("config.json", "metrics.jsonl", "figures.json", "samples/step-00000020.txt", "checkpoints/LATEST", "checkpoints/BEST",
                     "checkpoints/step-00000020/model.safetensors", "checkpoints/step-00000020/optimizer.safetensors",
                     "checkpoints/step-00000020/state.json", "checkpoints/step-00000020/vocab.json",
                     "checkpoints/step-00000020/MANIFEST.json"):
            self.assertTrue((run / name).is_file(), name)
        self.assertEqual(len(list(run.glob("events.out.tfevents.*"))), 1)
        evals = metrics(run, "eval")
        self.assertEqual([row["step"] for row in evals], [0, 10, 20])
        self.assertLess(evals[-1]["val_loss"], evals[0]["val_loss"])
        for key in ("step", "loss", "lr", "grad_norm", "tokens_per_second", "seconds"):
            self.assertIn(key, metrics(run, "train")[0])

    def test_the_default_run_folder_is_numbered(self):
        for n in (1, 2):
            self.succeed("train", "ladder/bigram", "--max_iters", "1", *QUICK, "--quiet")
            self.assertTrue((self.folder / f"runs/ladder-bigram-{n}/config.json").is_file())

    def test_a_checkpoint_holds_nanogpt_names_and_a_tied_head_once(self):
        self.train("r", "nanogpt-cpu", 1, *SMALL_GPT, "--dropout", "0")
        found, _ = safetensors(self.weights("r", 1))
        self.assertEqual([found["transformer.h.0.attn.c_attn.weight"][key] for key in ("dtype", "shape")], ["F32", [48, 16]])
        self.assertIn("transformer.wte.weight", found)
        self.assertNotIn("lm_head.weight", found)

    def test_dry_run_plans_and_writes_nothing(self):
        plan = self.json("train", "ladder/bigram", "--dry-run", *QUICK)
        for key in ("parameters", "tokens_per_step", "epochs", "memory_bytes", "disk_bytes", "expected_seconds"):
            self.assertIn(key, plan)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_estimate_of_memory_is_within_15_percent_of_the_peak(self):
        for preset, threads in (("default", 1), ("nanogpt-cpu", 16), ("quick", 2)):
            with self.subTest(preset=preset, threads=threads):
                training = ["train", preset, "--engine", "cpu", "--threads", threads, "--max_iters", 1, "--text", SAMPLE_TEXT]
                estimate = self.json(*training, "--dry-run")["memory_bytes"]
                peak = self.peak_memory(*training)
                self.assertLess(abs(estimate / peak - 1), 0.15, f"{estimate} estimated, {peak} at the peak")

    def test_dry_run_refuses_an_occupied_folder_as_the_run_would(self):
        self.train("r", "ladder/bigram", 1)
        self.write("photos/1.jpg", "mine")
        self.write("file", "mine")
        training = ["train", "ladder/bigram", "--max_iters", 1, *QUICK, "--run"]
        for code, *run in ((75, "r"), (75, "photos"), (75, "photos", "--overwrite"), (74, "file"), (74, "file", "--overwrite")):
            with self.subTest(run=run):
                self.assertEqual(self.fail_with(code, *training, *run, "--dry-run"), self.fail_with(code, *training, *run))
        before = sorted(self.folder.rglob("*"))
        self.succeed(*training, "r", "--overwrite", "--dry-run")
        self.assertEqual(sorted(self.folder.rglob("*")), before)

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

    def test_an_existing_run_is_refused_with_the_three_choices(self):
        self.train("r", "ladder/bigram", 1)
        before = (self.folder / "r/metrics.jsonl").read_bytes()
        error = self.fail_with(75, "train", "ladder/bigram", "--run", "r", *QUICK)
        for choice in ("chargpt resume r", "--run DIR", "--overwrite"):
            self.assertIn(choice, error)
        self.assertEqual((self.folder / "r/metrics.jsonl").read_bytes(), before)
        self.train("r", "ladder/bigram", 2, "--overwrite")
        self.assertTrue((self.folder / "r/checkpoints/step-00000002").is_dir())
        self.assertFalse((self.folder / "r/checkpoints/step-00000001").exists())

    def test_init_from_takes_weights_and_lets_the_vocabulary_grow(self):
        self.train("a", "ladder/bigram", 20)
        self.train("b", "ladder/bigram", 5, "--init_from", "a", text="μῆνιν ἄειδε θεὰ, and the rest in Latin letters. " * 200)
        self.assertIn("θ", self.succeed("inspect", "b", "--json").out + (self.folder / "b/checkpoints/step-00000005/vocab.json").read_text())

    def test_a_leaking_model_is_labelled_wherever_its_loss_is_shown(self):
        outcome = self.succeed("train", "ladder/average", "--run", "r", "--max_iters", "10", *QUICK)
        self.assertIn("leaks", outcome.out)
        self.assertIn("leaks", outcome.err)


class ResumeTest(ProgramTest):
    def assert_same_run(self, whole, parts, step):
        self.assertEqual(*(tensors(self.folder / run, step) for run in (whole, parts)))
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
                    self.assertEqual(tensors(self.folder / "whole", step), tensors(self.folder / "parts", step))
                    for run in ("parts", "whole"):
                        shutil.rmtree(self.folder / run)

    def test_threads_that_are_asked_for_on_resume_are_taken_and_announced(self):
        self.train("r", "nanogpt-cpu", 5, *SMALL_GPT)
        err = self.succeed("resume", "r", "--max_iters", "8", "--threads", "2").err
        self.assertIn("not bit-exact: the number of threads was 1 when the checkpoint was written and is 2 now", err)
        self.assertNotIn("not bit-exact", self.succeed("resume", "r", "--max_iters", "10").err)
        self.assertEqual(self.json("inspect", "r")["threads"], 2)


class FailureTest(ProgramTest):
    def test_a_text_of_ten_characters(self):
        self.assertIn("block_size", self.fail_with(65, "train", "ladder/bigram", "--text", self.write("tiny.txt", "tiny text!")))

    def test_cuda_on_a_machine_without_it(self):
        if "device cuda" in self.run_program("doctor").out:
            self.skipTest("this machine has a CUDA device")
        self.assertIn("cuda", self.fail_with(69, "train", "ladder/bigram", "--device", "cuda", *QUICK).lower())


class UnicodeTest(ProgramTest):
    TEXT = "Ἄνδρα μοι ἔννεπε, Μοῦσα. 道可道，非常道。名可名，非常名。🙂🚀 end.\n" * 60

    def test_greek_chinese_and_emoji_train_and_sample(self):
        self.train("r", "nanogpt-cpu", 20, *SMALL_GPT, text=self.TEXT)
        out = self.succeed("sample", "r", "--prompt", "道可道🙂", "--tokens", "50", "--quiet").out
        self.assertTrue(out.startswith("道可道🙂"))
        self.assertEqual(len(out.rstrip("\n")) if not out.endswith("\n\n") else 54, 54)
        self.assertLessEqual(set(out), set(self.TEXT))
