"""Resuming from an earlier step: a copy of the run without its later checkpoints. To the same bits, or with other options; the best is that of the step."""

import json
import os

from harness import SAVES, FaultTest, checkpoint, checkpoints, digests, name_of, rows, state, tensors


class EarlierStepTest(FaultTest):
    def setUp(self):
        super().setUp()
        self.run_folder = self.whole_run("run", 8, *SAVES, "--keep", "3")
        before = digests(self.run_folder)
        self.addCleanup(lambda: self.assertEqual(digests(self.run_folder), before))

    def copied(self, step):
        """By the recipe."""
        new = self.copy(self.run_folder, "new")
        for later in checkpoints(new):
            if later > step:
                checkpoint(new, later).unlink()
        return new

    def both(self, run):
        return [self.step_of(run, which) for which in ("last", "best")]

    def test_one_checkpoint_is_refused_with_the_recipe(self):
        self.assertIn("To resume from an earlier step: cp -r run NEW, remove the later ", self.fail_with(2, "resume", f"run/checkpoints/{name_of(6)}"))

    def test_other_options_count_from_there_and_the_best_is_its_own(self):
        new = self.copied(6)
        figures = self.json("resume", "new", "--learning_rate", "1", "--threads", "1")
        self.assertEqual(rows(new)[:len(rows(self.run_folder)) - 3], rows(self.run_folder)[:-3])  # 2 steps and an evaluation
        self.assertEqual(rows(new)[-1][1], 8)
        self.assertNotEqual(rows(new)[-1], rows(self.run_folder)[-1])
        self.assertEqual(self.json_of("new/config.json")["train"]["learning_rate"], 1)
        self.assertEqual(tensors(new, 6), tensors(self.run_folder, 6))
        self.assertEqual((self.both("run"), self.both("new")), ([8, 8], [8, 6]))
        self.assertEqual(figures["checkpoint"]["step"], 6)
        self.assertAlmostEqual(figures["loss"], state(self.run_folder, 6)["val_loss"], 5)

    def test_what_is_later_is_dropped_at_once_and_unchanged_it_comes_to_the_same_bits(self):
        new = self.copied(4)
        self.spoiled(["resume", "new", "--threads", "1"], new / "metrics.jsonl", "all", 8, "kill")
        self.assertLess(len(rows(new)), len(rows(self.run_folder)))
        self.assertEqual(sorted(os.listdir(new / "samples"))[-1], "step-00000004.txt")
        self.assertNotIn("figures", json.loads((new / "run.json").read_text()))
        self.assertEqual(self.both("new"), [4, 4])
        self.succeed("resume", "new", "--keep", "7", "--sample_tokens", "3", "--threads", "1")
        self.assert_same_training(self.run_folder, new, 8)
        self.assertEqual(self.both("new"), [8, 8])
