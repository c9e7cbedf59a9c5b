"""Comparisons of several trainings at once, and what bench measures."""

import fcntl
import pathlib
import signal
import time

from program import QUICK, SAMPLE_TEXT, SMALL, ProgramTest, last_wins


class CompareTest(ProgramTest):
    def test_several_at_once_give_the_losses_of_one_after_the_other(self):
        command = ["compare", "ladder/bigram", "ladder/masked", "--seeds", "2", "--max-iters", "20", *QUICK, "--json"]
        alone = self.succeed(*command, "--out", "alone").json
        at_once = self.succeed(*command, "--out", "out", "--jobs", "3", "--learning_rate", "1e-3")
        for one, other in zip(alone["results"], at_once.json["results"]):
            self.assertEqual((one["config"], one["mean"], one["ci95"]), (other["config"], other["mean"], other["ci95"]))
            self.assertEqual([run["jobs"] for run in other["seeds"]], [3, 3])
        self.assertIn("run 4 of 4: ladder/masked, seed 1338", at_once.err)
        self.assertTrue(any("up to 3 runs trained at once" in remark for remark in at_once.json["remarks"]))
        few = self.json("compare", "ladder/bigram", "--seeds", "2", "--max-iters", "2", *QUICK, "--out", "few", "--jobs", "9")
        self.assertEqual([run["jobs"] for run in few["results"][0]["seeds"]], [2, 2])  # as many as share the threads

    def test_the_seconds_of_a_run_are_those_of_all_of_it(self):
        self.train("other", "ladder/bigram", 2)
        self.train("run", "ladder/bigram", 20, "--learning_rate", "0.05", "--keep", "9")
        self.succeed("resume", "run", "--max_iters", "30", "--learning_rate", "50", "--quiet")  # its best checkpoint is not its last
        last = self.json("inspect", "run", "--checkpoint", "last")
        rows = self.json("compare", "run", "other")["results"]
        compared, = [seed for row in rows for seed in row["seeds"] if seed["run"] == "run"]
        self.assertEqual((compared["step"], compared["seconds"], compared["lowest"]),
                         (30, last["seconds"], {"loss": last["best_val_loss"], "step": last["best_step"]}))
        self.assertLess(compared["lowest"]["step"], 30)

    def test_later_seeds_make_as_many_steps_as_the_first_made_in_its_seconds(self):
        command = last_wins(["compare", "ladder/bigram", "--seeds", "2", "--max_seconds", "1", "--out", "out", *QUICK, "--eval_interval", "1000"])
        first, second = self.json(*command)["results"][0]["seeds"]
        self.assertEqual(first["updates"], second["updates"])

    def test_stopped_among_several_at_once_each_saves_and_the_same_command_goes_on(self):
        command = last_wins(["compare", "ladder/bigram", "--seeds", "2", "--max-iters", "4000", "--jobs", "2", "--out", "out", *QUICK,
                             "--eval_interval", "100"])
        process = self.started(*command)
        runs = [self.folder / f"out/ladder-bigram-seed{seed}" for seed in (1337, 1338)]
        self.wait_for(lambda: all(map(self.last_step, runs)))
        self.assertIn("stopped; to continue, repeat the command with --out out", self.ended_by(process, signal.SIGINT))
        for run in runs:
            with open(run / ".lock", "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # its process has ended
        stopped_at = [self.last_step(run) for run in runs]
        self.assertEqual(len(self.json(*command)["results"][0]["seeds"]), 2)
        for run, step in zip(runs, stopped_at):
            self.assertGreater(step, 0)
            self.assertEqual(self.last_step(run), 4000)


class BenchTest(ProgramTest):
    def test_bench_train_reports_milliseconds(self):
        figures = self.json("bench", "train", "nanogpt-cpu", *SMALL, "--text", SAMPLE_TEXT, "--warmup", "2", "--steps", "5", "--batch_size", "4",
                            "--gradient_accumulation_steps", "3")
        self.assertEqual(figures["measured_steps"], 5)
        self.assertAlmostEqual(figures["tokens_per_second"] * figures["ms_per_step"]["median"] / 1000, 3 * 4 * 16)
        # 12 C^2 + C V weights; forward and backward take 7 products over the (T + 1) / 2 keys that a query sees on average.
        V = len(set(pathlib.Path(SAMPLE_TEXT).read_text(encoding="utf-8")))
        self.assertAlmostEqual(figures["gflop_per_step"] * 1e9, 3 * 4 * 16 * (6 * (12 * 16 * 16 + 16 * V) + 7 * 2 * 16 * 17 / 2))
        self.assertAlmostEqual(figures["gflops"], figures["gflop_per_step"] / figures["ms_per_step"]["median"] * 1e3, places=6)
        self.assertAlmostEqual(figures["fraction_of_peak"], figures["gflops"] / figures["peak_gflops"])
        self.assertLess(figures["fraction_of_peak"], 10)  # a wrong unit gives thousands

    def test_bench_sample_measures_a_run(self):
        self.train("r", "nanogpt-cpu", 40, *SMALL)
        begun = time.monotonic()
        figures = self.json("bench", "sample", "r", "--num_samples", "3", "--tokens", "40", "--repeats", "1")
        self.assertEqual([figures[key] for key in ("batch", "tokens", "written")], [3, 40, 3 * 40])
        first, all_of_them = figures["first_token_ms"], 3 * 40e3 / figures["tokens_per_second"]
        self.assertTrue(0 < first < all_of_them < 1e3 * (time.monotonic() - begun), figures)  # a part of the command's time
