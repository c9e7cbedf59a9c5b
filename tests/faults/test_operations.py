"""One file operation fails, or the machine stops at it: the old or the new checkpoint loads, and training goes on from it to the same end.

A run of 4 steps, saved every 2, of which the newest and the best are kept, is resumed to 8 while operation k of that process on the run's
folder is spoilt. Then what the program takes for last and best must be what they were in a run that nothing happened to when it stood there,
and after a resume without faults to 12 all must be equal. The losses go down, up, down, up (see BEST), so that the best is now the last, now
an older one that would be pruned if it were not the best. The same of a run that begins and is killed. Quick: a selection of k, drawn anew each time. CHARGPT_SWEEP=1: every k.
"""

import errno
import os
import re
import shutil
import signal

from harness import SWEEP, FaultTest, drawn, fingerprint, rows, state, tensors

SELECTION = 2
READS = ("open", "opendir", "read", "stat", "mmap")
UNSTEADY = ["--learning_rate", "0.3", "--seed", "34"]  # validation losses 2.86, 2.99, 2.56, 2.73, 2.53, 2.72
SAVES = ["--eval_interval", "2", "--keep", "1", *UNSTEADY]
BEST = {2: 2, 4: 2, 6: 6, 8: 6, 10: 10, 12: 10}  # of the undisturbed run, at each step


class OperationsTest(FaultTest):
    names = []      # of the operations of the undisturbed process
    verified = {}   # what was found on disk, and resumed to the same end: whether BEST said what is so

    def setUp(self):
        super().setUp()
        self.base, self.whole_at_8, self.whole = (self.whole_run(f"whole-{steps}", steps, *SAVES) for steps in (4, 8, 12))
        self.all_kept = self.whole_run("all-kept", 12, *SAVES, "--keep", "99")

    def test_the_undisturbed_run_is_best_now_at_its_last_step_now_at_an_older_one(self):
        checkpoints = self.all_kept / "checkpoints"
        self.assertEqual({step: state(checkpoints / f"step-{step:08d}")["best_step"] for step in range(2, 14, 2)}, BEST)
        self.assertEqual(sorted(path.name for path in (self.whole_at_8 / "checkpoints").glob("step-*")), ["step-00000006", "step-00000008"])

    def count(self, operations):
        """How many operations of a set the undisturbed process does."""
        if not OperationsTest.names:
            self.spoiled(self.resuming(self.copy(self.base, "run"), 8), self.folder / "run")
            OperationsTest.names = [operation.name for operation in self.operations()]
        of_set = {"all": lambda name: True, "change": lambda name: name not in READS, "write": lambda name: name == "write"}[operations]
        return sum(map(of_set, self.names))

    def assert_goes_on_exactly(self, run, unsaved=()):
        """Resuming is a function of the checkpoints: what was verified once need not be again. `unsaved`: see assert_stands_as."""
        found = (fingerprint(run), *unsaved)
        if found in self.verified:
            return self.verified[found]
        says_so = self.assert_stands_as(self.all_kept, run, unsaved)
        self.assertNotIn("DAMAGED", self.succeed(*self.resuming(run, 12)).err)
        self.assertEqual(tensors(run, 12), tensors(self.whole, 12))
        self.assertEqual(rows(run), rows(self.whole))
        self.assertTrue(self.assert_stands_as(self.all_kept, run), "BEST was not mended")
        for name in ("LATEST", "BEST"):
            self.assertEqual((run / "checkpoints" / name).read_text(), (self.whole / "checkpoints" / name).read_text())
        self.assertEqual(sorted(os.listdir(run / "checkpoints")), sorted(os.listdir(self.whole / "checkpoints")))
        self.verified[found] = says_so
        return says_so

    def places(self, what, count):
        """All of so many operations, or some of them."""
        return range(1, count + 1) if SWEEP else sorted(drawn(what).sample(range(1, count + 1), SELECTION))

    def sweep(self, operations, how, reason, allowed):
        count = self.count(operations)
        places = self.places(f"{how} {reason} {operations}", count)
        codes, behind, without_best, before = {}, 0, 0, len(self.verified)
        for at in places:
            with self.subTest(at=at, of=operations, how=how, errno=reason):
                run = self.copy(self.base, "run")
                outcome = self.spoiled(self.resuming(run, 8), run, operations, at, how, reason)
                spoilt = [operation for operation in self.operations() if operation.number == at]
                self.assertIn(outcome.code, allowed, f"{spoilt}: {outcome.err}")
                codes[outcome.code] = codes.get(outcome.code, 0) + 1
                if outcome.code == 0 and how != "short":
                    self.assertEqual(tensors(run, 8), tensors(self.whole_at_8, 8), spoilt)
                unsaved = [int(step) for step in re.findall("no checkpoint of step ([0-9]+): (?!.*second attempt)", outcome.err)]
                if how == "once":
                    self.assertEqual(unsaved, [], f"{spoilt}: {outcome.err}")
                behind += not self.assert_goes_on_exactly(run, unsaved)
                without_best += any(BEST[step] == step for step in unsaved)
        print(f"{how} {errno.errorcode.get(reason, '')}: {len(places)} of {count} operations ({operations}), exit codes {codes}, "
              f"{len(self.verified) - before} outcomes on disk not seen before, all of them resumed to the same end; what best and last "
              f"mean: differences 0, where the save of a new best failed and was said to have ({without_best}) the lowest of those saved; "
              f"the file BEST behind until the next save or resume: {behind}", flush=True)

    def test_any_operation_fails_or_is_the_last_of_the_process(self):
        for operations, how, reason in (("all", "once", errno.EIO), ("change", "once", errno.ENOSPC),
                                        ("change", "forever", errno.ENOSPC), ("change", "forever", errno.EROFS)):
            self.sweep(operations, how, reason, {0, 74})
        self.sweep("write", "short", 0, {0})
        # At an operation that only reads, the disk is as after the one before it.
        for how in ("kill", "kill-after"):
            self.sweep("change", how, 0, {-signal.SIGKILL})

    def test_a_start_is_killed_before_any_operation(self):
        run, start = self.folder / "run", self.training("run", 4, *SAVES)
        self.spoiled(start, run, "change")
        count = max(operation.number for operation in self.operations())
        for at in self.places("start", count):
            with self.subTest(at=at):
                shutil.rmtree(run, ignore_errors=True)
                self.assertEqual(self.spoiled(start, run, "change", at, "kill").code, -signal.SIGKILL)
                if not list(run.glob("checkpoints/step-*")):
                    again = self.run_program(*start)
                    if again.code != 0:
                        self.assertIn("run already holds a run, which ended before it saved a checkpoint", self.error_of(again, 75))
                        self.succeed(*start, "--overwrite")
                self.assert_goes_on_exactly(run)


class OrderTest(FaultTest):
    def test_a_save_reaches_the_disk_in_an_order_that_outlives_a_power_cut(self):
        """Each file, then the manifest, then their folder, then the name, then the parent, then LATEST and BEST, then the old goes."""
        self.spoiled(self.training("run", 4, "--eval_interval", "2", "--keep", "1"), self.folder / "run", "change")  # each better than before
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
        pointers = []
        for name in ("LATEST", "BEST"):
            pointer = [i for i, (operation, _, to) in enumerate(log) if operation == "rename" and to and to.endswith(f"run/{folder}/{name}")][-1]
            pointers.append(pointer)
            self.assertLess(parent_synced[0], pointer)
            self.assertLess(places("fsync", re.escape(log[pointer][1]))[-1], pointer)  # of the file under its temporary name
            self.assertTrue(any(i > pointer for i in parent_synced))
        old_goes = places("rename", f"{folder}/step-00000002")[-1]
        self.assertTrue(any(pointers[0] < i < old_goes for i in parent_synced))
