"""One file operation fails, or the machine stops at it: the old or the new checkpoint loads, and training goes on from it to the same end.

A run of 4 updates, saved every 2, is resumed to 8 while operation k of that process on the run's folder is spoilt; then it is resumed without
faults to 12 and compared with a run that nothing happened to. Quick: a selection of k, drawn anew each time. CHARGPT_SWEEP=1: every k.
"""

import errno
import os
import random
import re
import signal
import unittest

from harness import FaultTest, fingerprint, rows, tensors

SWEEP = os.environ.get("CHARGPT_SWEEP") == "1"
SELECTION = 2
READS = ("open", "opendir", "read", "stat", "mmap")
SAVES = ["--eval_interval", "2", "--keep", "2"]


class OperationsTest(FaultTest):
    names = []        # of the operations of the undisturbed process
    verified = set()  # what was found on disk, and resumed to the same end

    def setUp(self):
        super().setUp()
        self.base, self.whole_at_8, self.whole = (self.whole_run(f"whole-{updates}", updates, *SAVES) for updates in (4, 8, 12))

    def count(self, operations):
        """How many operations of a set the undisturbed process does."""
        if not OperationsTest.names:
            self.spoiled(self.resuming(self.copy(self.base, "run"), 8), self.folder / "run")
            OperationsTest.names = [operation.name for operation in self.operations()]
        of_set = {"all": lambda name: True, "change": lambda name: name not in READS, "write": lambda name: name == "write"}[operations]
        return sum(map(of_set, self.names))

    def assert_goes_on_exactly(self, run):
        """Resuming is a function of the checkpoints: what was verified once need not be again."""
        state = fingerprint(run)
        if state in self.verified:
            return
        outcome = self.succeed(*self.resuming(run, 12))
        self.assertNotIn("DAMAGED", outcome.err)
        self.assertEqual(tensors(run, 12), tensors(self.whole, 12))
        self.assertEqual(rows(run), rows(self.whole))
        self.verified.add(state)

    def sweep(self, operations, how, reason, allowed):
        count = self.count(operations)
        places = range(1, count + 1) if SWEEP else sorted(random.sample(range(1, count + 1), SELECTION))
        codes = {}
        for at in places:
            with self.subTest(at=at, how=how, errno=reason):
                run = self.copy(self.base, "run")
                outcome = self.spoiled(self.resuming(run, 8), run, operations, at, how, reason)
                spoilt = [operation for operation in self.operations() if operation.number == at]
                self.assertIn(outcome.code, allowed, f"{spoilt}: {outcome.err}")
                codes[outcome.code] = codes.get(outcome.code, 0) + 1
                if outcome.code == 0 and how != "short":
                    self.assertEqual(tensors(run, 8), tensors(self.whole_at_8, 8), spoilt)
                self.assert_goes_on_exactly(run)
        print(f"{how} {errno.errorcode.get(reason, '')}: {len(places)} of {count} operations ({operations}), exit codes {codes}, "
              f"{len(self.verified)} different outcomes on disk, all resumed to the same end")

    def test_any_operation_fails_once(self):
        self.sweep("all", "once", errno.EIO, {0, 65, 66, 74})

    def test_the_disk_is_full_once(self):
        self.sweep("change", "once", errno.ENOSPC, {0, 74})

    def test_the_disk_is_full_from_some_moment_on(self):
        self.sweep("change", "forever", errno.ENOSPC, {0, 74})

    def test_the_folder_becomes_read_only(self):
        self.sweep("change", "forever", errno.EROFS, {0, 74})

    def test_a_write_takes_only_half(self):
        self.sweep("write", "short", 0, {0})

    def test_the_process_is_killed_before_any_operation(self):
        self.sweep("all", "kill", 0, {-signal.SIGKILL})


class OrderTest(FaultTest):
    def test_a_save_reaches_the_disk_in_an_order_that_outlives_a_power_cut(self):
        """Each file, then the manifest, then their folder, then the name, then the parent, then LATEST and BEST, then the old goes."""
        self.spoiled(self.training("run", 4, *SAVES, "--keep", "1"), self.folder / "run", "change")
        log = [(operation.name, operation.path.replace(str(self.folder / "run") + "/", ""), operation.other)
               for operation in self.operations()]
        temporary, folder = "checkpoints/.tmp-step-00000004", "checkpoints"

        def places(name, path):
            found = [i for i, (operation, at, _) in enumerate(log) if operation == name and re.fullmatch(path, at.removeprefix("run/"))]
            self.assertTrue(found, f"no {name} of {path}")
            return found

        named = places("rename", temporary)[-1]
        files = ["model.safetensors", "optimizer.safetensors", "state.json", "vocab.json", "config.json"]
        manifest_begun = places("create", f"{temporary}/MANIFEST.json")[-1]
        for name in [*files, "MANIFEST.json"]:
            written, synced = places("write", f"{temporary}/{name}")[-1], places("fsync", f"{temporary}/{name}")[-1]
            self.assertLess(written, synced)
            self.assertLess(synced, named)
            if name in files:
                self.assertLess(synced, manifest_begun)
        contents_synced = places("fsync", re.escape(temporary))[-1]
        self.assertLess(places("fsync", f"{temporary}/MANIFEST.json")[-1], contents_synced)
        self.assertLess(contents_synced, named)
        parent_synced = [i for i in places("fsync", folder) if i > named]
        pointers = [places("rename", rf"{folder}/\.LATEST\.tmp-.*")[-1], places("rename", rf"{folder}/\.BEST\.tmp-.*")[-1]]
        for name, pointer in zip(("LATEST", "BEST"), pointers):
            self.assertLess(parent_synced[0], pointer)
            self.assertLess(places("fsync", rf"{folder}/\.{name}\.tmp-.*")[-1], pointer)
            self.assertTrue(any(i > pointer for i in parent_synced))
        old_goes = places("rename", f"{folder}/step-00000002")[-1]
        self.assertTrue(any(pointers[0] < i < old_goes for i in parent_synced))


if __name__ == "__main__":
    unittest.main()
