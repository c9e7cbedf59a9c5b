"""Signals, terminals and pipes: how a run is ended from outside. What each signal does is in tests/cli/test_training.py."""

import fcntl
import os
import pathlib
import pty
import re
import signal
import subprocess
import termios

from harness import FaultTest, checkpoints, metrics
from program import TEXT


class StopTest(FaultTest):
    def started(self, *more, **keywords):
        """A long run that has saved once."""
        process = super().started(*self.training("run", 10**9, "--eval_interval", "5", *more), **keywords)
        self.wait_for_save("run")
        return process

    def test_a_second_signal_ends_at_once_and_saves_nothing(self):
        process = self.started("--keep", "1000000")
        process.send_signal(signal.SIGSTOP)  # so that both are there before the program can act on one
        self.wait_for(lambda: " T " in pathlib.Path(f"/proc/{process.pid}/stat").read_text())
        before = checkpoints(self.folder / "run")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        err = process.communicate(timeout=60)[1]
        self.assertIn(process.returncode, (128 + signal.SIGINT, 128 + signal.SIGTERM), err)
        self.assertNotIn("go on by", err)
        self.assertEqual(checkpoints(self.folder / "run"), before)
        self.succeed(*self.resuming("run", self.last_step("run") + 1))

    def test_closing_the_terminal_saves(self):
        ours, theirs = pty.openpty()
        process = self.started(stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
        os.close(theirs)
        before = self.last_step("run")
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGHUP)
        self.assertGreaterEqual(self.last_step("run"), before)
        self.assertTrue(self.json("inspect", "run", "--verify")["verified"])

    def test_nohup_is_respected(self):
        process = self.started(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        before = self.last_step("run")
        process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.last_step("run") > before)
        self.ended_by(process)

    def test_a_reader_that_goes_away_does_not_end_a_training(self):
        process = self.started(stdout=subprocess.PIPE)
        process.stderr.close()
        process.stdout.close()
        before = self.last_step("run")
        self.wait_for(lambda: self.last_step("run") > before)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM)

    def test_a_signal_while_the_closing_figures_are_computed(self):
        self.write("long.txt", TEXT * 60)
        process = FaultTest.started(self, "train", "ladder/bigram", "--run", "run", "--text", "long.txt", "--max_iters", "1")
        self.wait_for(lambda: (self.folder / "run" / "metrics.jsonl").is_file() and metrics(self.folder / "run", "end"), process)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        self.assertIn("chargpt eval run", err)
        self.assertEqual(self.last_step("run"), 1)

    def test_a_signal_while_a_dry_run_measures_ends_it(self):
        process = FaultTest.started(self, "train", "quick", "--text", "text.txt", "--max_epochs", "0", "--gradient_accumulation_steps", "65536", "--dry-run")
        status = pathlib.Path(f"/proc/{process.pid}/status")
        self.wait_for(lambda: int(re.search("SigCgt:(.*)", status.read_text())[1], 16) >> (signal.SIGINT - 1) & 1, process)
        self.assertIn("stopped before the work began; nothing was changed", self.ended_by(process, signal.SIGINT))
