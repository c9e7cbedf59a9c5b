"""A folder that is renamed, removed or replaced while a run writes to it: the next save says so, and nothing else is written to."""

import shutil
import signal

from harness import SAVES, FaultTest, digests


class MovedTest(FaultTest):
    def endless(self, run, *options):
        """A training that has saved twice."""
        process = self.started(*self.training(run, 10**9, *options))
        self.wait_for(lambda: self.last_step(run) > 2)
        return process

    def assert_ended(self, process, run):
        self.assertRegex(self.ended(process, 74), rf"chargpt: error: the folder {run} was renamed or removed while it was in use, so nothing more is "
                                                  r"saved in it; if it was renamed, resume it under its new name\n$")

    def test_a_folder_above_is_renamed_and_another_run_takes_the_old_name(self):
        run, moved = self.folder / "runs/run", self.folder / "old/run"
        rarely = ["--eval_interval", "400", *SAVES[2:]]  # stopped between two saves
        process = self.endless("runs/run", *rarely)
        process.send_signal(signal.SIGSTOP)
        (self.folder / "runs").rename(self.folder / "old")
        self.succeed(*self.training("runs/run", 2, *SAVES))
        other = digests(run)
        process.send_signal(signal.SIGCONT)
        self.assert_ended(process, "runs/run")
        self.assertEqual(digests(run), other)
        self.assertTrue(self.json("inspect", moved, "--verify")["verified"])
        last = self.last_step(moved) + 2
        self.succeed(*self.resuming(moved, last))
        self.assert_same_training(self.whole_run("whole", last, *rarely), moved, last)

    def test_a_run_whose_folder_is_removed_ends_with_one_line_and_makes_no_other(self):
        process = self.endless("run", *SAVES)
        (self.folder / "run").rename(self.folder / "gone")  # at once, so that no save finds half of it
        shutil.rmtree(self.folder / "gone", ignore_errors=True)
        self.assert_ended(process, "run")
        self.assertFalse((self.folder / "run").exists())

    def test_a_run_is_verified_while_it_trains(self):
        process = self.endless("run", "--eval_interval", "1", "--keep", "1")
        for _ in range(40):
            self.assertTrue(self.json("inspect", "run", "--verify")["verified"])
        self.ended_by(process, timeout=120)
