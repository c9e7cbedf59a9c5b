"""Limits and odd surroundings: little memory, few threads, small files, signals that are ignored, a standard input that does not block, a
working folder that is gone. Each ends in the exit code of the contract and one line."""

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

from harness import PROGRAM, FaultTest, Outcome, last_wins, limit


class SurroundingsTest(FaultTest):
    def setUp(self):
        super().setUp()
        self.whole_run("run", 4)

    # signals

    def test_ignored_sigchld_is_no_obstacle(self):
        for words in (["doctor", "--json"], self.training("other", 2)):
            outcome = self.run_in(lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), *words)
            self.assertEqual(outcome.code, 0, outcome.err)

    def test_the_limit_of_cpu_time_saves(self):
        process = self.started(*self.training("long", 10**9, "--eval_interval", 1000), preexec_fn=limit(resource.RLIMIT_CPU, 1, 30))
        err = self.ended(process, 128 + signal.SIGXCPU)
        self.assertIn("chargpt: stopping: the limit of CPU time (ulimit -t) is reached\n", err)
        self.assertRegex(err, r"stopped at step \d+ and saved; to continue:\nchargpt: → chargpt resume long\n")
        self.succeed(*self.resuming("long", self.last_step("long") + 1))

    def test_a_parent_that_is_none(self):
        for parent in ("garbage", "", "-1", "12x"):
            with self.subTest(parent=parent):
                self.succeed("--version", env={"CHARGPT_PARENT": parent})
        self.assertIn("process 1, which started this one (CHARGPT_PARENT in the environment), has ended",
                      self.fail_with(-signal.SIGTERM, "--version", env={"CHARGPT_PARENT": "1"}))

    # memory and threads

    def test_too_little_memory_is_81(self):
        self.write("long.txt", self.text.read_text() * 60)
        least = self.least_memory()
        for words in (["score", "run", "long.txt", "--json"], ["score", "run", "text.txt", "--json", "--candidates", "9"],
                      ["score", "run", "long.txt"], ["page", "run"], ["sample", "run", "--tokens", "5"], ["eval", "run", "--json"]):
            codes = set()
            for more in (0, 0.5, 1, 2, 4, 8, 16, 32):
                outcome, what = self.within(least + more, *words), f"{words} with {least + more} MB"
                self.assertIn(outcome.code, (0, 81), f"{what}: {outcome.err}")
                if outcome.code == 81:
                    self.assertRegex(outcome.error, "memory|address space|refused to start another thread")
                    self.assertFalse("--json" in words and outcome.out, f"{what}: a part of a document")
                codes.add(outcome.code)
            with self.subTest(words=words):
                self.assertIn(81, codes)

    def test_score_takes_little_memory_per_character(self):
        long = self.write("long.txt", self.text.read_text() * 300)
        peaks = [self.peak_memory("score", "run", name, "--json", "--threads", "1") for name in ("text.txt", "long.txt")]
        self.assertLess((peaks[1] - peaks[0]) / long.stat().st_size, 80)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "a limit of processes binds no root, and setpriv is not here")
    def test_few_threads_are_81_with_the_limit(self):
        for folder in (".", "run"):
            os.chmod(self.folder / folder, 0o777)
        reads = "+dac_override,+dac_read_search"  # the program and LibTorch may lie where another user cannot look
        another_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps=-all,{reads}", f"--ambient-caps={reads}"]
        for words in (["eval", "run"], self.training("cpu", 2, "--engine", "cpu"), self.training("libtorch", 2, "--engine", "libtorch")):
            process = subprocess.run([*another_user, "prlimit", "--nproc=5", PROGRAM, *last_wins([*words, "--threads", "8"])], cwd=self.folder,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
            with self.subTest(words=words):
                self.assertEqual(self.error_of(Outcome(process), 81),
                                 "the system refused to start another thread; lower --threads, or raise the limit (ulimit -u, ulimit -v, or "
                                 "pids.max of a container)")

    # files

    def test_a_limit_on_file_size_is_74_and_leaves_nothing(self):
        """Other files than those of test_operations.py, where a write fails as it does here."""
        self.write("long.txt", self.text.read_text() * 20)
        before = set(os.listdir(self.folder))
        for words in (["export", "run", "--out", "x"], ["export", "run", "--format", "safetensors", "--out", "x"], ["score", "run", "long.txt", "--html", "x.html"]):
            with self.subTest(words=words):
                self.assertIn("File too large", self.error_of(self.run_in(limit(resource.RLIMIT_FSIZE, 4096), *words), 74))
                self.assertEqual(set(os.listdir(self.folder)), before)

    def test_a_limit_on_file_size_of_what_is_printed_is_74(self):
        for words in (["sample", "run", "--tokens", "100000"], ["score", "run", "text.txt", "--json"], ["configs", "--schema"]):
            with self.subTest(words=words), open(self.folder / "out", "wb") as out:
                outcome = self.run_in(limit(resource.RLIMIT_FSIZE, 4096), *words, stdout=out)
                self.assertEqual(self.error_of(outcome, 74), "writing to standard output failed: File too large")

    # standard input

    STDIN = (["sample", "run", "-", "--tokens", "3"], ["sample", "run", "--interactive", "--tokens", "3"], ["score", "run", "-"])

    def test_an_endless_prompt_is_refused(self):
        for words in self.STDIN[:2]:
            with self.subTest(words=words), open("/dev/zero", "rb") as zero:
                outcome = self.run_in(limit(resource.RLIMIT_AS, 1 << 30), *words, stdin=zero)
                self.assertRegex(self.error_of(outcome, 65), "(standard input is larger than 67108864|an input line has more than 4194304) bytes")

    def test_a_standard_input_that_cannot_be_read_is_74(self):
        for words in self.STDIN:
            with self.subTest(words=words):
                folder = os.open(self.folder, os.O_RDONLY)
                outcome = self.run_in(None, *words, stdin=folder)
                os.close(folder)
                self.assertEqual(self.error_of(outcome, 74), "cannot read standard input: Is a directory")

    def test_a_standard_input_that_does_not_block_is_waited_for(self):
        for words in self.STDIN:
            ours, theirs = os.pipe()
            fcntl.fcntl(ours, fcntl.F_SETFL, os.O_NONBLOCK)
            process = self.started(*words, stdin=ours, stdout=subprocess.PIPE)
            os.close(ours)
            for piece in (b"ab", b"cd\n"):
                time.sleep(0.2)
                os.write(theirs, piece)
            os.close(theirs)
            out, err = process.communicate(timeout=60)
            with self.subTest(words=words):
                self.assertEqual(process.returncode, 0, err)
                self.assertEqual(out, self.succeed(*words, stdin=b"abcd\n").out)

    def test_a_byte_order_mark_is_no_part_of_the_text(self):
        for words in (self.STDIN[0], self.STDIN[2]):
            self.assertEqual(self.succeed(*words, stdin=b"\xef\xbb\xbfabc").out, self.succeed(*words, stdin=b"abc").out)
        self.assertEqual(*(self.json("score", "run", self.write("text", text))["losses"] for text in (b"abc", b"\xef\xbb\xbfabc")))

    # folders and terminals

    def on_a_terminal_called(self, term, *arguments):
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        return self.on_a_terminal(*arguments, environment={**environment, "TERM": term}).replace("\r\n", "\n")

    def test_a_dumb_terminal_gets_neither_colours_nor_a_repainted_line(self):
        for words, sign in ((["watch", "run", "--once"], "\x1b"), (self.training("other", 50, "--overwrite"), r"\x1b\[K")):
            with self.subTest(words=words):
                self.assertRegex(self.on_a_terminal_called("xterm", *words), sign)
                self.assertNotRegex(self.on_a_terminal_called("dumb", *words), "[\x1b\r]")
