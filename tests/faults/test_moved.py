"""A folder that is renamed, removed or replaced while a run writes to it: the next save says so, and nothing else is written to."""

import contextlib
import shutil
import signal
import time

from harness import SAVES, FaultTest, files


class MovedTest(FaultTest):
    def endless(self, run, *options):
        """A training that has saved twice."""
        process = self.started(*self.training(run, 10**9, *options))
        self.wait_for(lambda: self.last_step(run) > 2)
        return process

    def assert_one_whole_run(self, run, *resumed_by):
        self.assertTrue(self.json("inspect", run, "--verify")["verified"])
        last = self.last_step(run) + 2
        self.succeed("resume", *resumed_by, "--threads", "1", "--max_iters", last)
        self.assert_same_training(self.whole_run("whole", last, *SAVES), run, last)

    def assert_ended(self, process, run):
        self.assertRegex(self.ended(process, 74), rf"chargpt: error: the folder {run} was renamed or removed while it was in use, so nothing more is "
                                                  r"saved in it; if it was renamed, resume it under its new name\n$")

    def test_a_run_whose_folder_is_renamed_ends_and_is_resumed_where_it_is(self):
        run, moved = self.folder / "run", self.folder / "moved"
        process = self.endless("run", *SAVES)
        run.rename(moved)
        self.assert_ended(process, "run")
        self.assertFalse(run.exists())
        self.assert_one_whole_run(moved, "moved")

    def test_a_folder_above_is_renamed_and_another_run_takes_the_old_name(self):
        run, moved = self.folder / "runs/run", self.folder / "old/run"
        process = self.endless("runs/run", *SAVES)
        process.send_signal(signal.SIGSTOP)
        (self.folder / "runs").rename(self.folder / "old")
        self.succeed(*self.training("runs/run", 2, *SAVES))
        other = files(run)
        process.send_signal(signal.SIGCONT)
        self.assert_ended(process, "runs/run")
        self.assertEqual(files(run), other)
        self.assert_one_whole_run(moved, moved)

    def test_a_run_whose_folder_is_removed_ends_with_one_line_and_makes_no_other(self):
        run = self.folder / "run"
        process = self.endless("run", *SAVES)
        run.rename(self.folder / "gone")  # at once, so that no save finds half of it
        shutil.rmtree(self.folder / "gone", ignore_errors=True)
        self.assert_ended(process, "run")
        self.assertFalse(run.exists())

    def test_a_link_that_takes_the_place_of_the_checkpoints_is_not_followed(self):
        run, other = self.folder / "run", self.whole_run("other", 6, *SAVES)
        before = files(other)
        process = self.endless("run", *SAVES)
        while not (run / "checkpoints").is_symlink():
            (run / "checkpoints").rename(self.folder / f"aside-{time.time()}")
            with contextlib.suppress(FileExistsError):  # a save was quicker
                (run / "checkpoints").symlink_to(other / "checkpoints")
        time.sleep(1)  # some hundred saves fail; training goes on, as the next may succeed
        process.terminate()
        self.assertRegex(self.ended(process, 74),
                         r"chargpt: error: no checkpoint of step \d+: cannot make the folder run/checkpoints: a symbolic link has that name")
        self.assertEqual(files(other), before)

    def test_a_run_is_verified_while_it_trains(self):
        process = self.endless("run", "--eval_interval", "1", "--keep", "1")
        for _ in range(40):
            self.assertTrue(self.json("inspect", "run", "--verify")["verified"])
        self.ended_by(process, timeout=120)
