"""compare: the grid of --vary, runs that were trained before, the ladder, and how each is printed."""

import fcntl
import os
import pathlib
import signal
import subprocess

from checkpoints import name_of
from program import QUICK, ProgramTest, last_wins, metrics

TINY = [*QUICK, "--n_embd", "8", "--max_iters", "12", "--quiet"]


class CompareTest(ProgramTest):
    def compare(self, *arguments):
        return self.json("compare", *arguments, *TINY)


class ChildrenTest(CompareTest):
    """Runs are children of the program, which may die alone."""

    COMMAND = last_wins(["compare", "ladder/bigram", "ladder/masked", "--seeds", "2", "--max-iters", "1500", *QUICK, "--eval_interval", "100"])

    def child_of(self, process, run):
        """The process that trains this run, once it has saved a checkpoint."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        self.wait_for_save(run)
        return self.wait_for(lambda: next((int(child) for child in children.read_text().split()
                                           if run.encode() in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()), None))

    def losses(self, out):
        return {seed["run"].split("/")[1]: seed.get("loss") for row in self.json_of(f"{out}/compare.json")["results"]
                for seed in row["seeds"]}

    def test_a_killed_run_is_named_the_others_go_on_and_the_same_command_resumes_it_bit_for_bit(self):
        self.succeed(*self.COMMAND, "--out", "whole")
        process = self.started(*self.COMMAND, "--out", "out", stdout=subprocess.PIPE)
        os.kill(self.child_of(process, "out/ladder-masked-seed1337"), signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 81, err)
        self.assertIn("ladder/masked with seed 1337: it was killed (signal 9)", err)
        self.assertIn("1 of 4 runs ended without a result; to train them again, give the same command with --out out", err)
        self.assertIn("failed  ladder/masked", out)
        whole, broken = self.losses("whole"), self.losses("out")
        self.assertIsNone(broken.pop("ladder-masked-seed1337"))
        self.assertEqual(broken, {run: whole[run] for run in broken})
        self.assertEqual(self.succeed(*self.COMMAND, "--out", "out", "--jobs", "2").err.count("trained before"), 3)
        self.assertEqual(self.losses("out"), whole)
        self.assertEqual(len({path.stat().st_ino for path in self.folder.glob("whole/*/text.safetensors")}), 1)  # one copy of the ids

    def test_the_threads_that_are_asked_for_are_the_runs(self):
        for threads in (1, 3):
            self.succeed(*last_wins(["compare", "ladder/bigram", "--out", f"out{threads}", *TINY, "--threads", threads]))
            self.assertEqual(self.json("inspect", f"out{threads}/ladder-bigram-seed1337")["threads"], threads)

    def test_killed_itself_it_leaves_no_child_and_goes_on(self):
        process = self.started(*self.COMMAND, "--out", "out", "--jobs", "2")
        child = self.child_of(process, "out/ladder-bigram-seed1337")
        process.kill()
        process.wait()
        with open(self.folder / "out/ladder-bigram-seed1337/.lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # waits for the child
        self.wait_for(lambda: not pathlib.Path(f"/proc/{child}").exists())
        self.assertEqual(len(self.json(*self.COMMAND, "--out", "out")["results"]), 2)

    def test_two_comparisons_do_not_share_a_folder(self):
        (self.folder / "out").mkdir()
        with open(self.folder / "out/.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual(self.fail_with(75, *self.COMMAND, "--out", "out"),
                             "another compare is writing to out; wait for it, stop it, or choose another folder with --out DIR")
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], [".lock"])


class RunsTest(CompareTest):
    """Compares runs as they are: two seeds of one config, and one of another."""

    def setUp(self):
        super().setUp()
        for run, config, seed in (("a1", "ladder/bigram", 1), ("a2", "ladder/bigram", 2), ("b1", "ladder/masked", 1)):
            self.train(run, config, 20, "--seed", seed, "--n_embd", "8")

    def test_scores_the_best_checkpoints_as_eval_does_and_trains_nothing(self):
        before = sorted(self.folder.rglob("*"))
        outcome = self.succeed("compare", "a1", "b1", "--json", "--threads", "1")
        for row in outcome.json["results"]:
            figures = self.json("eval", row["config"])
            self.assertEqual((row["mean"], row["seeds"][0]["step"]), (figures["loss"], figures["checkpoint"]["step"]))
            self.assertIsNone(row["ci95"])  # one seed
            self.assertEqual(row["seeds"][0]["scored"], "best")
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        self.assertTrue(any(remark.startswith("each run is scored at its best checkpoint") for remark in outcome.json["remarks"]))

    def test_runs_that_differ_in_the_seed_are_seeds_of_one_config(self):
        results = self.json("compare", "a1", "a2", "--out", "out")["results"]
        self.assertEqual([[seed["seed"] for seed in row["seeds"]] for row in results], [[1, 2]])
        self.assertEqual(results[0]["config"], "ladder/bigram")
        self.assertLess(results[0]["ci95"][0], results[0]["mean"])
        self.assertTrue((self.folder / "out/compare.json").exists())

    def test_a_checkpoint_that_is_named_is_no_best_one(self):
        self.train("more", "ladder/bigram", 20, "--seed", 3, "--n_embd", "8", "--eval_interval", "10", "--keep", "5")
        early = f"more/checkpoints/{name_of(10)}"
        outcome = self.json("compare", early, "b1")
        scored = {seed["scored"]: seed["step"] for row in outcome["results"] for seed in row["seeds"]}
        self.assertEqual(set(scored), {"named", "best"})
        self.assertEqual(scored["named"], 10)
        self.assertTrue(any("scored at step 10, the checkpoint that was named" in remark for remark in outcome["remarks"]), outcome["remarks"])
        self.assertIn("is of a run given before", self.fail_with(2, "compare", early, "more"))

    def test_the_table_fits_a_terminal_of_80_columns(self):
        table = self.fitting_lines(80, "compare", "a1", "b1")
        for word in ("rank", "config", "loss", "above best", "params", "seconds"):
            self.assertIn(word, table[0])


class FormsTest(CompareTest):
    def test_a_run_that_did_not_go_through_its_schedule_is_told_with_what_ended_it(self):
        command = ["compare", "ladder/bigram", "--out", "out", *TINY[:-1]]
        self.assertNotIn("ended by", self.succeed(*command).err)
        kept = self.json_of("out/ladder-bigram-seed1337/val_losses.json")
        self.write("out/ladder-bigram-seed1337/val_losses.json", {**kept, "ended": "patience"})
        self.assertIn(", ended by patience after 12 steps", self.succeed(*command).err)

    def test_the_first_evaluation_at_the_target_is_told_where_every_seed_reached_it(self):
        command = ["compare", "ladder/bigram", "--vary", "learning_rate=1e-1,1e-5", "--seeds", "2", "--target", "4", "--out", "out", *TINY[:-3],
                   "--max_iters", "30", "--quiet"]
        report = self.json(*command)
        self.assertEqual(report["target"], 4)
        for seed in report["results"][0]["seeds"]:
            first = next(row for row in metrics(self.folder / seed["run"], "eval") if row["val_loss"] <= 4)
            self.assertEqual(seed["target"], {"step": first["step"], "seconds": first["seconds"]})
            self.assertEqual((seed["updates"], seed["ended"]), (30, "finished"))  # it goes on
        self.assertEqual([seed["target"] for seed in report["results"][1]["seeds"]], [None, None])
        self.assertRegex(self.fail_with(2, *command, "--eval_iters", "2"), r"score a part of it; add --eval_iters \d+")
        lines = self.lines_at(80, *command)
        self.assertRegex(lines[-2], r"^ladder/bigram learning_rate=1e-1 +2 of 2 +[12]0 +[0-9.]+$")
        self.assertRegex(lines[-1], r"^ladder/bigram learning_rate=1e-5 +0 of 2$")

    def test_what_a_terminal_shows_meanwhile_fits_it(self):
        for columns in (60, 80, 120):
            shown = self.fitting_screen(columns, "compare", "ladder/attention", "--vary", "n_head=1,2", "--seeds", "2",
                                        "--out", f"out{columns}", *TINY[:-3], "--max_iters", "400")
            self.assertEqual(shown.count("one of 2"), 1, shown)


class LadderTest(CompareTest):
    def test_climbs_every_rung_and_says_what_each_adds(self):
        command = ["compare", "ladder", "--max_iters", "6", "--out", "runs/ladder", *QUICK, "--quiet"]
        report = self.json(*command)
        self.assertEqual(self.json_of("runs/ladder/compare.json")["ladder"], report["ladder"])
        rungs = [row["config"] for row in report["ladder"]["rungs"]]
        self.assertEqual(rungs, [f"ladder/{name}" for name in ("bigram", "average", "average-causal", "masked", "attention", "attention-multihead",
                                                                "transformer", "post-norm")])
        loss = {row["config"]: row["mean"] for row in report["results"]}
        for row in report["ladder"]["rungs"]:
            self.assertEqual(row["leaks"], row["config"] == "ladder/average")
            self.assertEqual(row["step"] is None, row["config"] in ("ladder/bigram", "ladder/average"))
            if row["step"]:
                self.assertAlmostEqual(row["step"]["difference"], loss[row["config"]] - loss[row["step"]["below"]], places=6)
        self.assertEqual(report["ladder"]["rungs"][2]["step"]["below"], "ladder/bigram")
        table = self.fitting_lines(80, *command)
        self.assertEqual(len(table), 12)
        for part in ("average (leaks)", "counting pairs"):
            self.assertIn(part, "\n".join(table))
