"""File systems without locks and read-only folders: what was saved stays, and can be used."""

import errno
import os
import subprocess

from harness import PROGRAM, SAVES, FaultTest, Outcome, files, mounts_are_allowed


class DiskTest(FaultTest):
    def test_a_file_system_without_locks_says_how_to_go_on(self):
        run = self.whole_run("run", 2)
        before = files(run)
        said = (f"the file system does not support locks ({os.strerror(errno.ENOLCK)}); choose a run folder on another one (--run DIR), or mount it with "
                "locks (NFS: local_lock=flock, Lustre: flock)")
        for arguments, folder in ((self.resuming("run", 4), run), (self.training("new", 2), self.folder / "new")):
            error = self.error_of(self.spoiled(arguments, folder, "lock", 1, "forever", errno.ENOLCK), 74)
            self.assertTrue(error.endswith(said), error)
        self.assertEqual(set(files(run)) - {".lock"}, set(before) - {".lock"})
        self.assertFalse((self.folder / "new/run.json").exists())
        self.assertEqual(self.spoiled(["runs", "."], run, "lock", 1, "forever", errno.ENOLCK).code, 0)

    def without_writing(self, folder, arguments):
        """The program where the folder is, as root, a read-only mount, else without the permission."""
        command = [PROGRAM, *map(str, arguments)]
        if os.geteuid() == 0:
            if not mounts_are_allowed():
                self.skipTest("a read-only mount needs a mount namespace")
            command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"', str(folder), *command]
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
                         r"cannot make the folder closed/run: .*; choose another with --run DIR or --out DIR")
