"""Any file operation fails once, from there on, or is the last of its process: nothing complete is lost, and what is done again has the same bits.

One table: what is under way (a test each) by what happens to its k-th operation (FAULTS). The losses of the run go down, up, down, up (see BEST), so that
its best checkpoint is now the last, now one that would be pruned if it were not the best. Quick: some k, others each time. CHARGPT_SWEEP=1: every k.
"""

import collections
import errno
import os
import re
import shutil
import signal

from harness import SWEEP, FaultTest, best_of, checkpoint, checkpoints, digests, drawn, fingerprint, is_whole, name_of, rows

READS = ("open", "opendir", "read", "stat", "mmap")
SAVES = ["--eval_interval", "2", "--keep", "1", "--learning_rate", "0.15", "--seed", "62"]  # validation losses 2.37, 2.58, 2.24, 2.54, 2.09, 2.16
BEST = {2: 2, 4: 2, 6: 6, 8: 6, 10: 10, 12: 10}  # at each step
FAULTS = [  # operations, what happens at the k-th, errno, exit codes
    ("all", "once", errno.EIO, {0, 74}), ("change", "once", errno.ENOSPC, {0, 74}), ("change", "forever", errno.ENOSPC, {0, 74}),
    ("change", "forever", errno.EROFS, {0, 74}), ("write", "short", 0, {0}),
    ("change", "kill", 0, {-signal.SIGKILL}), ("change", "kill-after", 0, {-signal.SIGKILL})]  # at a read the disk is as after the operation before


class OperationsTest(FaultTest):
    verified = set()  # what was found on disk, and went on to the same end

    def setUp(self):
        super().setUp()
        self.base, self.whole = (self.whole_run(f"whole-{steps}", steps, *SAVES) for steps in (4, 12))
        self.all_kept = self.whole_run("all-kept", 12, *SAVES, "--keep", "99")
        self.run_folder, self.out = self.folder / "run", self.folder / "out"

    def begin(self, base):
        for name in ("run", "out", "out.partial"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        if base:
            self.copy(base, "run")

    def sweep(self, base, command, folder, check, codes=(), draws=1):
        self.begin(base)
        self.spoiled(command, folder)
        names = [operation.name for operation in self.operations()]
        for operations, how, reason, allowed in FAULTS:
            count = sum(operations in ("all", name) or (operations == "change" and name not in READS) for name in names)
            what, found = f"{self._testMethodName}: {how} {errno.errorcode.get(reason, '')} ({operations})", collections.Counter()
            for at in range(1, count + 1) if SWEEP else drawn(what).sample(range(1, count + 1), min(count, draws)):
                with self.subTest(what, at=at):
                    self.begin(base)
                    outcome = self.spoiled(command, folder, operations, at, how, reason)
                    spoilt = f"{[operation for operation in self.operations() if operation.number == at]}: {outcome.err}"
                    self.assertIn(outcome.code, allowed.union(codes), spoilt)
                    found[outcome.code] += 1
                    check(how, outcome, spoilt)
            print(f"{what}: of {count} operations, exit codes {dict(found)}", flush=True)

    def assert_goes_on(self, how, outcome, spoilt):
        unsaved = [int(step) for step in re.findall("no checkpoint of step ([0-9]+): (?!.*second attempt)", outcome.err)]
        self.assertTrue(how == "forever" or not unsaved, spoilt)
        found = (fingerprint(self.run_folder), *unsaved)
        if found not in self.verified:
            self.assert_stands_as(self.all_kept, self.run_folder, unsaved)
            self.assertNotIn("DAMAGED", self.succeed(*self.resuming("run", 12)).err, spoilt)
            self.assert_stands_as(self.all_kept, self.run_folder)
            self.assertEqual(checkpoints(self.run_folder), checkpoints(self.whole))
            self.assertEqual(rows(self.run_folder), rows(self.whole))
            self.verified.add(found)

    def test_resume(self):
        """Saves steps 6 and 8, and prunes 2 and 4."""
        def check(how, outcome, spoilt):
            self.assertGreaterEqual(checkpoints(self.run_folder)[-1], 8 if outcome.code == 0 else 4, spoilt)
            self.assert_goes_on(how, outcome, spoilt)

        self.assertEqual({step: best_of(self.all_kept, range(step + 1)) for step in BEST}, BEST)
        self.sweep(self.base, self.resuming("run", 8), self.run_folder, check, draws=2)

    def test_start(self):
        def check(how, outcome, spoilt):
            if outcome.code == 0:
                self.assertEqual(checkpoints(self.run_folder)[-1], 4)
            if not checkpoints(self.run_folder):
                again = self.run_program(*command)
                if again.code != 0:
                    self.assertIn("run contains a run that stopped before its first checkpoint", self.error_of(again, 75))
                    self.succeed(*command, "--overwrite")
            self.assert_goes_on(how, outcome, spoilt)

        command = self.training("run", 4, *SAVES)
        self.sweep(None, command, self.run_folder, check)

    def made_again(self, command, product):
        """The run stays as it is; the product is whole or not there, and is made by the same command."""
        def check(how, outcome, spoilt):
            lacks_a_file = product.suffix == ".html" and any(f"name='{name}'" in spoilt for name in READS)  # that could not be read
            is_made = outcome.code == 0 and not lacks_a_file and "DAMAGED CHECKPOINT" not in outcome.err  # another one was used, and said
            if is_made or (outcome.code != 0 and product.exists()):
                self.assertEqual(digests(product), whole, spoilt)
            if not is_made:
                again = self.run_program(*command)
                if again.code != 0:
                    self.assertRegex(self.error_of(again, 75), r"^out(\.partial)? already exists; choose another path or remove it$")
                    self.begin(self.base)
                    self.succeed(*command)
                self.assertEqual(digests(product), whole, spoilt)
            self.assertLessEqual(digests(self.base).items(), digests(self.run_folder).items(), spoilt)

        self.begin(self.base)
        self.succeed(*command)
        whole = digests(product)
        self.sweep(self.base, command, self.folder, check)

    def test_page(self):
        self.made_again(["page", "run"], self.run_folder / "page.html")

    def test_export(self):
        self.made_again(["export", "run", "--out", "out"], self.out)

    def test_compare(self):
        def losses(outcome):
            return [[seed["loss"] for seed in row["seeds"]] for row in outcome.json["results"]]

        def check(how, outcome, spoilt):
            for run in self.out.glob("*-seed*"):
                for step in checkpoints(run):
                    self.assertTrue(is_whole(checkpoint(run, step)), spoilt)
            self.assertEqual(losses(self.succeed(*command)), whole, spoilt)

        command = ["compare", "nanogpt-cpu", "--seeds", "2", "--out", "out", *self.training("unused", 4, *SAVES[:-2])[4:], "--json"]
        whole = losses(self.succeed(*command))
        self.sweep(None, command, self.out, check, {0, 74, 81})

    def test_a_save_reaches_the_disk_in_an_order_that_outlives_a_power_cut(self):
        """What is written is on disk before it has its name, and the name is before anything older goes."""
        self.spoiled(self.training("run", 4, "--eval_interval", "2", "--keep", "1"), self.run_folder, "change")  # each better than before
        log = self.operations()
        named = max(i for i, operation in enumerate(log) if operation.name == "rename" and operation.other.endswith(name_of(4)))
        written = {operation.path: i for i, operation in enumerate(log[:named]) if operation.name == "write" and operation.path.endswith(os.path.basename(log[named].path))}
        self.assertTrue(written)
        for path, at in written.items():
            self.assertIn(("fsync", path), [operation[1:3] for operation in log[at:named]])
        goes = next(i for i, operation in enumerate(log) if i > named and operation.path.endswith(name_of(2)))
        self.assertIn(("fsync", str(self.run_folder / "checkpoints")), [operation[1:3] for operation in log[named:goes]])
