"""Training shared by several processes that mpirun has started."""

import os
import shutil
import signal
import subprocess
import time

from program import PROGRAM, SAMPLE_TEXT, Outcome, last_wins
from ranks import ENVIRONMENT, MODULE, RanksCase


class RanksTest(RanksCase):
    def assert_close(self, one, other, limit=1e-4):
        self.assertEqual(one.keys(), other.keys())
        for step, loss in one.items():
            self.assertAlmostEqual(loss, other[step], delta=limit)

    def test_several_ranks_train_what_one_process_does_and_repeat_their_bits(self):
        self.succeed(*self.training("teacher"))
        for name, options in {"plain": [], "taught": ["--teacher", "teacher"], "dropout": ["--dropout", "0.2", "--gradient_accumulation_steps", "2"],
                              "libtorch": ["--engine", "libtorch", "--dropout", "0.2"], "averages": ["--ema", "0.9", "--batch_size", "5"]}.items():
            with self.subTest(name):
                self.succeed(*self.training(f"{name}-1", *options))
                for ranks, run in [(2, f"{name}-2"), (2 if name == "libtorch" else 3, f"{name}-3"), (2, f"{name}-again")]:
                    self.together(ranks, *self.training(run, *options))
                    self.assert_close(self.losses(f"{name}-1"), self.losses(run))
                self.assertEqual(self.weights(f"{name}-2", 24), self.weights(f"{name}-again", 24))

    def test_one_rank_is_a_run_without_a_launcher_bit_for_bit(self):
        self.succeed(*self.training("alone"))
        self.together(1, *self.training("one"))
        self.assertEqual(self.weights("alone", 24), self.weights("one", 24))

    def test_a_run_goes_on_to_the_same_bits_and_with_another_number_of_ranks_says_so(self):
        self.together(2, *self.training("whole"))
        self.together(2, *self.training("halves", iters=12))
        shutil.copytree(self.folder / "halves", self.folder / "three")
        self.together(2, "resume", "halves", "--max_iters", "24", "--quiet")
        self.assertEqual(self.weights("whole", 24), self.weights("halves", 24))
        three = self.together(3, "resume", "three", "--max_iters", "24")
        self.assertIn("the number of ranks was 2 when the checkpoint was written and is 3 now", three.err)
        self.assertIn("3 ranks, each with 2 of the 6 windows and 1 thread", three.err)
        self.assert_close(self.losses("whole"), self.losses("three"))

    def test_a_length_in_seconds_is_one_for_all_ranks(self):
        self.together(3, *last_wins([*self.training("run"), "--max_seconds", "3"]))
        self.assertTrue(self.figures_of("run"))

    def refused(self, code, part, *words):
        process = subprocess.run(["mpirun", *map(str, words)], cwd=self.folder, env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=60, check=False)
        self.assertIn(part, self.error_of(Outcome(process), code))
        self.assertFalse((self.folder / "run").exists())

    def test_ranks_that_do_not_belong_together_are_refused_by_one_of_them_and_nothing_is_written(self):
        def one(*more):
            return ["-np", "1", PROGRAM, *self.training("run", *more)]
        self.write("other.txt", "another text " * 500)
        self.refused(2, "model.n_embd 16 -> 32", *one(), ":", *one("--n_embd", "32"))
        self.refused(65, "rank 1 differs from rank 0: text \"29049 tokens, ", *one(), ":", *one("--text", "other.txt"))
        self.refused(66, "rank 1: ", *one(), ":", *one("--text", "nowhere.txt"))
        self.refused(2, "3 ranks share train.batch_size = 2", "-np", "3", PROGRAM, *self.training("run", "--batch_size", "2"))
        self.refused(2, "standard input", "-np", "2", PROGRAM, *self.training("run", "--text", "-"))

    def test_ranks_may_find_the_same_text_in_different_places(self):
        shutil.copy(SAMPLE_TEXT, self.folder / "copy.txt")
        words = ["mpirun", "-np", "1", PROGRAM, *self.training("run"), ":", "-np", "1", PROGRAM, *self.training("run", "--text", "copy.txt")]
        process = subprocess.run(list(map(str, words)), cwd=self.folder, env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=120, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertTrue(self.figures_of("run"))

    def test_a_program_without_mpi_says_so_instead_of_training_twice(self):
        (self.folder / "bin").mkdir()
        shutil.copy(MODULE.parent / "chargpt", self.folder / "bin")
        done = self.together(2, *self.training("run"), program="bin/chargpt", code=69)
        self.assertEqual(done.err.count("this build has no MPI"), 1)
        self.assertFalse((self.folder / "run").exists())

    def test_a_full_disk_under_rank_0_ends_all_with_a_whole_checkpoint(self):
        small = self.small_file_system("512k")
        saves = ["--eval_interval", "2", "--keep", "100"]
        done = self.together(2, *last_wins([*self.training("small/run"), *saves]), code=74)
        self.assertEqual(done.err.count("chargpt: error: "), 1, done.err)
        self.assertIn("No space left on device", done.err)
        self.assertIn("to continue from the last checkpoint: chargpt resume small/run", done.err)
        subprocess.run(["mount", "-o", "remount,size=16m", small], check=True)
        self.together(2, "resume", "small/run", "--quiet")
        self.together(2, *last_wins([*self.training("whole"), *saves]))
        self.assertEqual(self.weights("small/run", 24), self.weights("whole", 24))

    def test_a_rank_that_dies_or_hangs_ends_all_and_the_last_checkpoint_goes_on(self):
        for name, number, more, code in [("dies", signal.SIGKILL, [], 137), ("hangs", signal.SIGSTOP, ["--rank-timeout", "2"], 74)]:
            with self.subTest(name):
                process = self.running(name, *more)
                os.kill(self.rank_process(1), number)
                begun = time.monotonic()
                err = self.ended(process, code, timeout=30).decode()
                self.assertLess(time.monotonic() - begun, 20)
                self.assertIn(f"to continue from the last checkpoint: chargpt resume {name}", err)
                last = self.last_step(name)
                self.together(2, "resume", name, "--max_iters", last + 10, "--quiet")
                self.together(2, *self.training(f"{name}-whole", iters=last + 10))
                self.assertEqual(self.weights(name, last + 10), self.weights(f"{name}-whole", last + 10))

    def test_a_signal_saves_once_and_ends_all(self):
        process = self.start(2, *(word for word in self.training("run", iters=100000) if word != "--quiet"))
        self.wait_for_save("run")
        err = self.ended_by(process, signal.SIGUSR1, timeout=30).decode()
        self.assertRegex(err, r"stopped at step \d+ and saved; to continue:\nchargpt: → chargpt resume run\n")

    def test_a_signal_to_one_rank_saves_and_ends_all(self):
        process = self.running("run")
        os.kill(self.rank_process(1), signal.SIGUSR1)
        self.ended(process, 128 + signal.SIGUSR1, timeout=30)
        self.assertEqual(self.state("run")["ended"], "stopped")
