"""Resuming from an earlier step: a copy of the run without its later checkpoints. To the same bits, or with other options; the best is that of the step."""

import errno
import os
import shutil

from harness import SAVES, FaultTest, files, rows, state, tensors

REPLAY = ["--threads", "1"]


class EarlierStepTest(FaultTest):
    def setUp(self):
        super().setUp()
        self.run_folder = self.whole_run("run", 8, *SAVES, "--keep", "3")
        self.before = files(self.run_folder)
        self.addCleanup(lambda: self.assertEqual(files(self.run_folder), self.before))

    def copied(self, step):
        """By the recipe."""
        new = self.copy(self.run_folder, "new")
        for later in (new / "checkpoints").glob("step-*"):
            if int(later.name[5:]) > step:
                shutil.rmtree(later)
        return new

    def test_one_checkpoint_is_refused_with_the_recipe(self):
        self.assertEqual(self.fail_with(2, "resume", "run/checkpoints/step-00000006", *REPLAY),
                         "run/checkpoints/step-00000006 is one checkpoint, and resume continues the last one of a run. To resume from an earlier "
                         "step: cp -r run NEW, remove the later folders of NEW/checkpoints, chargpt resume NEW")

    def test_unchanged_it_comes_to_the_same_bits(self):
        for more in ([], ["--keep", "7"], ["--sample_tokens", "3", "--temperature", "0.5"]):
            with self.subTest(more=more):
                new = self.copied(4)
                self.succeed("resume", "new", *more, *REPLAY)
                self.assert_same_training(self.run_folder, new, 8)
                self.assertEqual(self.chosen("new", "best"), ("step-00000008", []))

    def test_logged_less_often_it_comes_to_the_same_weights(self):
        new = self.copied(4)
        self.succeed("resume", "new", "--log_interval", "2", *REPLAY)
        self.assertEqual(tensors(new, 8), tensors(self.run_folder, 8))

    def test_other_options_count_from_there_and_the_best_is_its_own(self):
        new = self.copied(6)
        figures = self.json("resume", "new", "--learning_rate", "1", *REPLAY)
        self.assertEqual(rows(new)[:len(rows(self.run_folder)) - 3], rows(self.run_folder)[:-3])  # 2 steps and an evaluation
        self.assertEqual(rows(new)[-1][1], 8)
        self.assertNotEqual(rows(new)[-1], rows(self.run_folder)[-1])
        self.assertEqual(self.json_of("new/config.json")["train"]["learning_rate"], 1)
        self.assertEqual(tensors(new, 6), tensors(self.run_folder, 6))
        self.assertEqual(self.chosen("run", "best")[0], "step-00000008")
        self.assertEqual(self.chosen("new", "best"), ("step-00000006", []))
        self.assertEqual(figures["checkpoint"]["step"], 6)
        self.assertAlmostEqual(figures["loss"], state(self.run_folder / "checkpoints/step-00000006")["val_loss"], 5)
        self.assertTrue(self.json("inspect", new, "--verify")["verified"])

    def test_what_is_later_is_dropped_at_once(self):
        new = self.copied(4)
        self.spoiled(["resume", "new", *REPLAY], new / "metrics.jsonl", "all", 8, "kill")
        self.assertLess(len(rows(new)), len(rows(self.run_folder)))
        self.assertEqual(sorted(os.listdir(new / "samples"))[-1], "step-00000004.txt")
        self.assertFalse((new / "figures.json").exists())
        for which in ("last", "best"):
            self.assertEqual(self.chosen("new", which), ("step-00000004", []))
        self.succeed("resume", "new", *REPLAY)
        self.assert_same_training(self.run_folder, new, 8)
        self.assertEqual(self.chosen("new", "best"), ("step-00000008", []))

    def test_later_checkpoints_that_are_left_are_replaced_where_names_cannot_be_exchanged(self):
        new = self.copy(self.run_folder, "new")
        (new / "checkpoints/LATEST").write_text("step-00000004\n")  # as if every save since had ended before it named its checkpoint
        outcome = self.spoiled(["resume", "new", *REPLAY], new, "exchange", 1, "forever", errno.EINVAL)
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertNotIn("no checkpoint of step", outcome.err)
        self.assertTrue([operation for operation in self.operations() if operation.number > 0])
        self.assert_same_training(self.run_folder, new, 8)
        self.assertEqual(sorted(os.listdir(new / "checkpoints")), sorted(os.listdir(self.run_folder / "checkpoints")))
