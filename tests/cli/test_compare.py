"""compare: the grid of --vary, runs that were trained before, the ladder, and how each is printed."""

import fcntl
import json
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

    def table(self, out):
        """What compare.json says of the runs in `out`, times aside."""
        rows = self.json_of(f"{out}/compare.json")["results"]
        for row in rows:
            for seed in row["seeds"]:
                seed["run"] = seed["run"].split("/")[1]
            for timed in (row, *row["seeds"]):
                for name in ("seconds", "tokens_per_second", "jobs"):
                    timed.pop(name, None)
        return rows

    def test_a_killed_run_is_named_the_others_go_on_and_the_same_command_resumes_it_bit_for_bit(self):
        self.succeed(*self.COMMAND, "--out", "whole")
        process = self.started(*self.COMMAND, "--out", "out", stdout=subprocess.PIPE)
        os.kill(self.child_of(process, "out/ladder-masked-seed1337"), signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 81, err)
        self.assertIn("ladder/masked, seed 1337: was killed (signal 9)", err)
        self.assertIn("1 run ended without a result (above); to train them again, repeat the command with --out out", err)
        self.assertIn("failed  ladder/masked", out)
        self.assertEqual([seed["loss"] is None for row in self.table("out") for seed in row["seeds"]], [False, False, True, False])
        self.assertEqual(self.succeed(*self.COMMAND, "--out", "out", "--jobs", "2").err.count("trained before"), 3)
        self.assertEqual(self.table("out"), self.table("whole"))
        self.assertEqual(len({path.stat().st_ino for path in self.folder.glob("whole/*/text.safetensors")}), 1)  # one copy of the ids

    def test_a_signal_that_ends_a_run_is_the_exit_code(self):
        for ended_by, code in ((signal.SIGTERM, 143), (signal.SIGSEGV, 70)):  # a crash is a bug of ours
            process = self.started(*self.COMMAND, "--out", ended_by.name)
            os.kill(self.child_of(process, ended_by.name + "/ladder-bigram-seed1337"), ended_by)
            self.assertIn(f"ladder/bigram, seed 1337: was ended by signal {ended_by.value}", process.communicate(timeout=120)[1])
            self.assertEqual(process.returncode, code)

    def test_two_processes_with_one_folder_share_the_runs_and_print_the_same_table(self):
        self.succeed(*self.COMMAND, "--out", "whole")
        processes = [self.started(*self.COMMAND, "--out", "out", "--json", stdout=subprocess.PIPE) for _ in range(2)]
        said = [process.communicate(timeout=300) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], said)
        self.assertEqual(json.loads(said[0][0])["results"], json.loads(said[1][0])["results"])
        self.assertEqual(self.table("out"), self.table("whole"))
        self.assertGreaterEqual(sum(err.count("trained before") for _, err in said), 4)  # each run is trained once

    def test_times_beside_a_run_of_another_process_are_marked(self):
        (self.folder / "out/ladder-masked-seed1337").mkdir(parents=True)
        with open(self.folder / "out/ladder-masked-seed1337/.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.started(*last_wins([*self.COMMAND, "--max-iters", "20"]), "--out", "out")
            while "other processes train 1 run" not in (line := process.stderr.readline()):
                self.assertTrue(line, "it waits for the run that is locked")
        process.communicate(timeout=120)
        jobs = {pathlib.Path(seed["run"]).name: seed.get("jobs") for row in self.json_of("out/compare.json")["results"] for seed in row["seeds"]}
        self.assertEqual(jobs, {"ladder-bigram-seed1337": 2, "ladder-bigram-seed1338": 2, "ladder-masked-seed1338": 2, "ladder-masked-seed1337": None})

    def test_stopped_and_repeated_until_it_ends_it_gives_the_table_of_an_undisturbed_one(self):
        self.succeed(*self.COMMAND, "--out", "whole")
        for run in ("out/ladder-bigram-seed1337", "out/ladder-masked-seed1338"):
            process = self.started(*self.COMMAND, "--out", "out")
            self.child_of(process, run)
            self.assertIn("stopped; to continue, repeat the command with --out out", self.ended_by(process, signal.SIGINT))
        self.succeed(*self.COMMAND, "--out", "out")
        self.assertEqual(self.table("out"), self.table("whole"))

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

    def test_a_comparison_under_a_clock_takes_one_process(self):
        (self.folder / "out").mkdir()
        with open(self.folder / "out/.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("out is in use by another process", self.fail_with(75, *self.COMMAND, "--max_seconds", "1", "--out", "out"))
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], [".lock"])


class RunsTest(CompareTest):
    """Compares runs as they are: two seeds of one config, and one of another."""

    def setUp(self):
        super().setUp()
        for run, config, seed in (("a1", "ladder/bigram", 1), ("a2", "ladder/bigram", 2), ("b1", "ladder/masked", 1)):
            self.train(run, config, 20, "--seed", seed, "--n_embd", "8")

    def test_scores_the_final_weights_as_eval_does_and_trains_nothing(self):
        before = sorted(self.folder.rglob("*"))
        outcome = self.succeed("compare", "a1", "b1", "--json", "--threads", "1")
        for row in outcome.json["results"]:
            figures = self.json("eval", row["config"], "--checkpoint", "last")
            self.assertEqual((row["mean"], row["seeds"][0]["step"]), (figures["loss"], figures["checkpoint"]["step"]))
            self.assertIsNone(row["ci95"])  # one seed
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        self.assertIsNone(outcome.json["look"])

    def test_runs_that_differ_in_the_seed_are_seeds_of_one_config(self):
        results = self.json("compare", "a1", "a2", "--out", "out")["results"]
        self.assertEqual([[seed["seed"] for seed in row["seeds"]] for row in results], [[1, 2]])
        self.assertEqual(results[0]["config"], "ladder/bigram")
        self.assertLess(results[0]["ci95"][0], results[0]["mean"])
        self.assertTrue((self.folder / "out/compare.json").exists())

    def test_a_checkpoint_that_is_named_is_scored(self):
        self.train("more", "ladder/bigram", 20, "--seed", 3, "--n_embd", "8", "--eval_interval", "10", "--keep", "5")
        early = f"more/checkpoints/{name_of(10)}"
        outcome = self.json("compare", early, "b1")
        self.assertEqual({row["config"]: row["seeds"][0]["step"] for row in outcome["results"]}, {early: 10, "b1": 20})
        self.assertTrue(any("is scored at step 10, not at its end" in remark for remark in outcome["remarks"]), outcome["remarks"])


class FormsTest(CompareTest):
    def test_a_run_that_ended_early_is_a_remark(self):
        outcome = self.succeed(*last_wins(["compare", "ladder/bigram", *TINY, "--learning_rate", "0", "--patience", "1", "--eval_interval", "2"]))
        self.assertIn("ladder/bigram: 1 of 1 seed stopped early by patience, judged on the validation split", outcome.out)

    def test_the_test_split_is_scored_with_the_same_weights(self):
        command = ["compare", "ladder/bigram", "--test_fraction", "0.1", "--seeds", "2", "--out", "out", *TINY]
        val, test = (self.json(*command, "--split", split) for split in ("val", "test"))
        self.assertEqual((val["split"], test["split"]), ("val", "test"))
        for one, other in zip(val["results"][0]["seeds"], test["results"][0]["seeds"]):
            self.assertEqual(other["loss"], self.json("eval", other["run"], "--checkpoint", "last", "--split", "test")["loss"])
            self.assertNotEqual(one["loss"], other["loss"])
        self.assertEqual(len(test["results"][0]["ci95"]), 2)
        self.assertIn("needs data.test_fraction above 0", self.fail_with(2, "compare", "ladder/bigram", "--split", "test", *TINY))

    def test_looks_are_counted_by_numbers_of_seeds(self):
        command = ["compare", "ladder/bigram", "--vary", "n_embd=4,8", "--out", "out", *QUICK, "--max_iters", "5", "--quiet"]
        self.succeed("compare", "ladder/bigram", "--seeds", "3", "--n_embd", "4", *command[4:])  # no verdict, so no look
        looks = [(report["look"], report["level"]) for report in (self.json(*command, "--seeds", seeds) for seeds in (1, 2, 2, 3, 2))]
        self.assertEqual(looks, [(1, 0.04), (1, 0.04), (1, 0.04), (2, 0.005), (1, 0.04)])
        self.assertEqual(self.json_of("out/compare.json")["looks"], [2, 3])
        runs = [seed["run"] for seed in self.json_of("out/compare.json")["results"][0]["seeds"]]
        self.succeed("compare", *runs, "--out", "out", "--quiet")
        self.assertEqual(self.json_of("out/compare.json")["looks"], [2, 3])

    def test_dry_run_shows_the_plan_and_makes_nothing(self):
        out = self.succeed("compare", "ladder/bigram", "--vary", "n_embd=4,8", "--seeds", "3", "--dry-run", *QUICK, "--max_iters", "12").out
        self.assertRegex(out, r"(?m)^ladder/bigram n_embd=8 +[\d.k]+ +12 +768 .* s$")
        self.assertRegex(out, r"(?m)^6 runs, one after the other: about .* and .* of checkpoints$")
        self.assertFalse((self.folder / "runs").exists())

    def test_the_first_evaluation_at_the_target_is_told_where_every_seed_reached_it(self):
        command = ["compare", "ladder/bigram", "--vary", "learning_rate=1e-1,1e-5", "--seeds", "2", "--target", "4", "--out", "out", *TINY[:-3],
                   "--max_iters", "30", "--quiet"]
        report = self.json(*command)
        self.assertEqual(report["target"], 4)
        for seed in report["results"][0]["seeds"]:
            first = next(row for row in metrics(self.folder / seed["run"], "eval") if row["val_loss"] <= 4)
            self.assertEqual(seed["reached"], {"step": first["step"], "seconds": first["seconds"]})
            self.assertEqual((seed["updates"], seed["ended"]), (30, "finished"))  # it goes on
        self.assertEqual([seed["reached"] for seed in report["results"][1]["seeds"]], [None, None])
        self.assertRegex(self.fail_with(2, *command, "--eval_iters", "2"), r"evaluates only a part of it; add --eval_iters 46$")
        lines = self.lines_at(80, *command)
        self.assertRegex(lines[-2], r"^ladder/bigram learning_rate=1e-1 +2 of 2 +[12]0 +[0-9.]+$")
        self.assertRegex(lines[-1], r"^ladder/bigram learning_rate=1e-5 +0 of 2 +– +–$")

    def test_what_a_terminal_shows_meanwhile_fits_it(self):
        for columns in (60, 80):
            shown = self.fitting_screen(columns, "compare", "ladder/attention", "--vary", "n_head=1,2", "--seeds", "2",
                                        "--out", f"out{columns}", *TINY[:-3], "--max_iters", "1000")
            self.assertIn("run 4 of 4: ladder/attention n_head=2", shown)
            self.assertIn(" left  best val ", shown)  # the child's line


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
            self.assertEqual(row["versus_below"] is None, row["config"] in ("ladder/bigram", "ladder/average"))
            if row["versus_below"]:
                self.assertAlmostEqual(row["versus_below"]["difference"], loss[row["config"]] - loss[row["versus_below"]["below"]], places=6)
        self.assertEqual(report["ladder"]["rungs"][2]["versus_below"]["below"], "ladder/bigram")
        table = self.fitting_lines(80, *command)
        self.assertTrue(table[11].startswith("counting "), table)
        for part in ("average (leaks)", "counting pairs"):
            self.assertIn(part, "\n".join(table))
