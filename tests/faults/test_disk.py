"""Disks that are full or read-only: what was saved stays, and is gone on from."""

import errno
import os
import resource
import subprocess

from harness import PROGRAM, SAVES, FaultTest, Outcome, limit, mounts_are_allowed, rows, tensors


class FullDiskTest(FaultTest):
    def test_a_limit_of_file_sizes_is_a_notice_on_the_way_and_74_at_the_end(self):
        run = self.whole_run("run", 4, *SAVES)
        before = tensors(run, 4)
        too_little = (run / "checkpoints/step-00000004/optimizer.safetensors").stat().st_size - 1
        outcome = self.run_in(limit(resource.RLIMIT_FSIZE, too_little), *self.resuming(run, 8))
        self.assertIn("File too large", self.error_of(outcome, 74))
        self.assertIn("no checkpoint of step 6: ", outcome.err)
        self.assertIn("training goes on", outcome.err)
        self.assertEqual(tensors(run, 4), before)
        self.succeed(*self.resuming(run, 8))
        self.assert_same_training(self.whole_run("whole", 8, *SAVES), run, 8)

    def test_a_save_that_fails_once_is_tried_again_at_once(self):
        self.whole_run("whole", 4, *SAVES)
        run = self.folder / "run"
        outcome = self.spoiled(self.training("run", 4, *SAVES), run / "checkpoints", "write", 3, "once", errno.EIO)
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertIn("no checkpoint of step 2: ", outcome.err)
        self.assertIn("it was saved at the second attempt", outcome.err)
        self.assert_same_training(self.folder / "whole", run, 4)
        self.assertEqual(tensors(run, 2), tensors(self.folder / "whole", 2))

    def test_rows_of_metrics_wait_until_they_can_be_written(self):
        self.whole_run("whole", 4, *SAVES)
        run = self.folder / "run"
        outcome = self.spoiled(self.training("run", 4, *SAVES), run / "metrics.jsonl", "write", 3, "once", errno.ENOSPC)
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertIn("metrics.jsonl: No space left on device", outcome.err)
        self.assertIn("kept in memory until it can be written again", outcome.err)
        self.assertEqual(rows(run), rows(self.folder / "whole"))

    def test_a_file_system_without_locks_says_how_to_go_on(self):
        run = self.whole_run("run", 2)
        before = tensors(run, 2)
        said = (f"the file system does not support locks ({os.strerror(errno.ENOLCK)}); choose a run folder on another one (--run DIR), or mount it with "
                "locks (NFS: local_lock=flock, Lustre: flock)")
        for arguments, folder in ((self.resuming("run", 4), run), (self.training("new", 2), self.folder / "new")):
            error = self.error_of(self.spoiled(arguments, folder, "lock", 1, "forever", errno.ENOLCK), 74)
            self.assertTrue(error.endswith(said), error)
        self.assertEqual(tensors(run, 2), before)
        self.assertFalse((self.folder / "new").exists())
        self.assertEqual(self.spoiled(["runs", "."], run, "lock", 1, "forever", errno.ENOLCK).code, 0)

    def test_a_full_file_system(self):
        small = self.small_file_system("256k")
        options = ["--eval_interval", "2", "--keep", "100"]
        error = self.fail_with(74, *self.training("small/run", 30, *options))
        self.assertIn("No space left on device", error)
        self.assertIn("free some space", error)
        self.assertTrue(self.json("inspect", "small/run", "--verify")["verified"])
        subprocess.run(["mount", "-o", "remount,size=16m", small], check=True)
        self.succeed(*self.resuming("small/run", 30))
        self.assert_same_training(self.whole_run("whole", 30, *options), small / "run", 30)


class ReadOnlyTest(FaultTest):
    """As root a read-only mount, else a folder without the permission."""

    def without_writing(self, folder, arguments):
        command = [PROGRAM, *map(str, arguments)]
        if os.geteuid() == 0:
            if not mounts_are_allowed():
                self.skipTest("a read-only mount needs a mount namespace")
            script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", script, str(folder), *command]
        else:
            for path in [folder, *folder.rglob("*")]:
                path.chmod(path.stat().st_mode & ~0o222)
            self.addCleanup(lambda: [path.chmod(path.stat().st_mode | 0o200) for path in [folder, *folder.rglob("*")]])
        return Outcome(subprocess.run(command, cwd=self.folder, timeout=300, capture_output=True, check=False))

    def test_a_read_only_run_can_be_used_but_not_gone_on_with(self):
        run = self.whole_run("run", 2, *SAVES)
        for command in (["sample", run, "--tokens", "5"], ["eval", run], ["inspect", run, "--verify"]):
            outcome = self.without_writing(run, command)
            self.assertEqual(outcome.code, 0, outcome.err)
        self.assertRegex(self.error_of(self.without_writing(run, self.resuming(run, 4)), 74),
                         r"cannot lock .*run/\.lock: (Read-only file system|Permission denied)")

    def test_a_new_run_in_a_read_only_folder(self):
        closed = self.folder / "closed"
        closed.mkdir()
        self.assertRegex(self.error_of(self.without_writing(closed, self.training("closed/run", 2)), 74),
                         r"cannot make the folder closed/run: .*; choose another place with --run DIR")
