"""Going on from an earlier step: to the same bits in place, with other options only in a run of its own; the best is what it is throughout."""

import errno
import os
import shutil
import signal

from harness import SAVES, FaultTest, files, rows, state, tensors

REPLAY = ["--threads", "1"]


def charted_steps(run):
    """Of each TensorBoard file, in order: a record is a length, its sum, an event (time, then the step, here below 128) and its sum."""
    found = []
    for path in sorted(run.glob("events.out.tfevents.*")):
        data, steps = path.read_bytes(), set()
        while data:
            length = int.from_bytes(data[:8], "little")
            steps.add(data[22] if data[21] == 0x10 else 0)
            data = data[16 + length:]
        found.append(sorted(steps))
    return found


class BranchTest(FaultTest):
    def setUp(self):
        super().setUp()
        self.run_folder = self.whole_run("run", 8, *SAVES, "--keep", "3")
        self.before = files(self.run_folder)

    def test_other_options_from_an_earlier_step_are_a_run_of_their_own(self):
        asked = ["resume", "run", "--checkpoint", "step-6", "--learning_rate", "1", *REPLAY]
        self.assertEqual(self.fail_with(2, *asked), "resuming from step 6, which is not the last, with other options (train.learning_rate "
                                                    "0.001 -> 1.0) begins a new run; give its folder: --run NEW")
        outcome = self.succeed(*asked, "--run", "branch")
        self.assertIn("chargpt: a new run, branch, continues from step 6 of run, which is not changed: train.learning_rate 0.001 -> 1.0\n",
                      outcome.err)
        self.assertEqual(files(self.run_folder), self.before)
        branch = self.folder / "branch"
        self.assertEqual(rows(branch)[:len(rows(self.run_folder)) - 3], rows(self.run_folder)[:-3])  # 2 steps and an evaluation
        self.assertEqual(rows(branch)[-1][1], 8)
        self.assertNotEqual(rows(branch)[-1], rows(self.run_folder)[-1])
        self.assertEqual(self.json_of("branch/config.json")["train"]["learning_rate"], 1)
        self.assertEqual(tensors(branch, 6), tensors(self.run_folder, 6))
        self.assertEqual(charted_steps(self.run_folder), [[*range(9)]])
        self.assertEqual(charted_steps(branch), [[0, 7, 8]])  # 0: the version of the format
        self.assertEqual(sorted(os.listdir(branch / "samples")), sorted(os.listdir(self.run_folder / "samples")))
        self.assertEqual(self.chosen("run", "best")[0], "step-00000008")
        self.assertEqual(self.chosen("branch", "best"), ("step-00000006", []))
        self.assertTrue(self.json("inspect", branch, "--verify")["verified"])

    def test_the_report_of_a_branch_is_of_its_own_best(self):
        figures = self.json("resume", "run", "--checkpoint", "step-6", "--learning_rate", "1", "--run", "branch", *REPLAY)
        self.assertEqual(figures["checkpoint"]["step"], 6)
        self.assertAlmostEqual(figures["loss"], state(self.run_folder / "checkpoints/step-00000006")["val_loss"], 5)

    def test_a_branch_that_is_stopped_goes_on_by_itself(self):
        options = ["--learning_rate", "0.01", "--max_iters", "12", *REPLAY]
        whole = self.spoiled(["resume", "run/checkpoints/step-00000006", *options, "--run", "whole"], self.folder / "whole/checkpoints")
        self.assertIn("a new run, whole, continues from step 6", whole.err)
        begun = next(operation.number for operation in self.operations() if operation.name == "rename" and (operation.other or "").endswith("/LATEST"))
        killed = self.spoiled(["resume", "run", "--checkpoint", "step-6", *options, "--run", "branch"], self.folder / "branch/checkpoints", "all",
                              begun + 3, "kill")
        self.assertEqual(killed.code, -signal.SIGKILL)
        branch = self.folder / "branch"
        self.assertEqual((branch / "checkpoints/LATEST").read_text(), "step-00000006\n")
        self.succeed("resume", "branch", *REPLAY)
        self.assert_same_training(self.folder / "whole", branch, 12)
        self.assertEqual(files(self.run_folder), self.before)

    def test_a_branch_keeps_the_best_that_it_comes_from(self):
        """As it stood at that step, though a better one came later."""
        worse = self.succeed("resume", "run", "--learning_rate", "3", "--max_iters", "14", *REPLAY)
        self.assertNotIn("a new run", worse.err)  # from the last, it is the same run
        self.assertEqual(self.chosen("run", "best")[0], "step-00000008")
        self.succeed("resume", "run", "--checkpoint", "step-12", "--learning_rate", "0.001", "--run", "branch", *REPLAY)
        self.assertEqual(self.chosen("branch", "best"), ("step-00000008", []))
        self.assertEqual(tensors(self.folder / "branch", 8), tensors(self.run_folder, 8))

    def test_unchanged_it_is_the_same_run_to_the_same_bits(self):
        for more in ([], ["--keep", "7"], ["--sample_tokens", "3", "--temperature", "0.5"]):
            with self.subTest(more=more):
                run = self.copy(self.run_folder, "copy")
                self.succeed("resume", "copy", "--checkpoint", "step-4", *more, *REPLAY)
                self.assert_same_training(self.run_folder, run, 8)

    def test_logged_less_often_it_is_the_same_run(self):
        run = self.copy(self.run_folder, "copy")
        self.succeed("resume", "copy", "--checkpoint", "step-4", "--log_interval", "2", *REPLAY)
        self.assertEqual(tensors(run, 8), tensors(self.run_folder, 8))

    def test_a_replay_replaces_checkpoints_where_names_cannot_be_exchanged(self):
        run = self.copy(self.run_folder, "copy")
        outcome = self.spoiled(["resume", "copy", "--checkpoint", "step-4", *REPLAY], run, "exchange", 1, "forever", errno.EINVAL)
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertNotIn("no checkpoint of step", outcome.err)
        self.assertTrue([operation for operation in self.operations() if operation.number > 0])
        self.assert_same_training(self.run_folder, run, 8)
        self.assertEqual(sorted(os.listdir(run / "checkpoints")), sorted(os.listdir(self.run_folder / "checkpoints")))

    def test_a_replay_that_is_killed_at_once_goes_on_from_where_it_began(self):
        """Its rows are cut back before anything is saved: what they went back to is then the last."""
        run = self.copy(self.run_folder, "copy")
        self.spoiled(["resume", "copy", "--checkpoint", "step-4", *REPLAY], run / "metrics.jsonl", "all", 8, "kill")
        self.assertLess(len(rows(run)), len(rows(self.run_folder)))
        self.assertEqual(self.chosen("copy", "last")[0], "step-00000004")
        self.assertEqual(self.chosen("copy", "best")[0], "step-00000004")
        self.succeed("resume", "copy", *REPLAY)
        self.assert_same_training(self.run_folder, run, 8)
        self.assertEqual(self.chosen("copy", "best"), ("step-00000008", []))

    def test_a_folder_that_is_taken_is_refused(self):
        shutil.copytree(self.run_folder, self.folder / "taken")
        before = files(self.folder / "taken")
        self.fail_with(75, "resume", "run", "--checkpoint", "step-6", "--run", "taken", *REPLAY)
        self.assertEqual(files(self.folder / "taken"), before)
        self.assertEqual(files(self.run_folder), self.before)


class BestTest(FaultTest):
    """sample and eval find the best by the states, whatever became of the file BEST."""

    def setUp(self):
        super().setUp()
        self.run_folder = self.whole_run("run", 8, *SAVES, "--keep", "9", "--learning_rate", "0.3", "--seed", "34")  # best at 6
        self.pointer = self.run_folder / "checkpoints/BEST"
        self.assertEqual(self.pointer.read_text(), "step-00000006\n")

    def test_a_stale_pointer_misleads_nobody_even_where_nothing_can_be_written(self):
        expected = self.succeed("sample", "run", "--tokens", "20").out
        self.assertEqual(self.json("eval", "run")["checkpoint"]["step"], 6)
        for text in ("step-00000008\n", "step-00000002\n", ""):
            self.pointer.write_text(text)
            for folder in (self.run_folder, self.run_folder / "checkpoints"):
                folder.chmod(0o555)
                self.addCleanup(folder.chmod, 0o755)
            self.assertEqual(self.succeed("sample", "run", "--tokens", "20").out, expected)
            self.assertEqual(self.json("eval", "run")["checkpoint"]["step"], 6)
            self.assertEqual(self.pointer.read_text(), text)

    def test_resuming_mends_it_at_once(self):
        self.pointer.write_text("step-00000002\n")
        self.succeed("resume", "run", "--threads", "1")
        self.assertEqual(self.pointer.read_text(), "step-00000006\n")

    def test_weights_that_replaced_the_best_are_not_taken_for_it(self):
        """As left by a program that let a branch overwrite the run it came from."""
        branch = self.copy(self.run_folder, "other")
        self.succeed("resume", "other", "--checkpoint", "step-2", "--learning_rate", "0.2", "--max_iters", "6", "--run", "branch", *REPLAY)
        shutil.rmtree(branch)
        shutil.rmtree(self.run_folder / "checkpoints/step-00000006")
        shutil.copytree(self.folder / "branch/checkpoints/step-00000006", self.run_folder / "checkpoints/step-00000006")
        best, notices = self.chosen("run", "best")
        self.assertEqual(best, "step-00000008")
        self.assertRegex(notices[0], r"^the best checkpoint of run/checkpoints, step-00000006 with a validation loss of 2\.5\d{3}, was replaced by "
                                     r"one of another training, with \d\.\d{4}; using the last$")
