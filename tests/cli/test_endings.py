"""Why runs end: in the terminal, in `runs`, in metrics and JSON; what a stop does wherever it comes; that seconds are kept."""

import subprocess
import time

from program import SAMPLE_TEXT, TEXT, ProgramTest, last_wins, metrics, tensors

SMALL = ["nanogpt-cpu", "--text", SAMPLE_TEXT, "--n_layer", "1", "--n_head", "1", "--n_embd", "16", "--block_size", "8", "--batch_size", "4",
         "--threads", "1", "--tokens", "5", "--sample_tokens", "5"]
# Nothing improves on the first evaluation.
PATIENCE = [*SMALL, "--learning_rate", "0", "--min_lr", "0", "--max_iters", "60", "--eval_interval", "10", "--patience", "2"]


class EndingTest(ProgramTest):
    def how_it_ended(self, run):
        """By `runs`, as JSON and as a table."""
        row, = [row for row in self.json("runs", ".") if row["run"] == run]
        self.assertIn(f" {row['ended']} ", self.succeed("runs", ".").out)
        return row["ended"]

    def test_patience_is_told_everywhere_and_more_updates_begin_it_anew(self):
        outcome = self.succeed("train", *PATIENCE, "--run", "run", "--json")
        self.assertEqual(outcome.json["ended"], "patience")
        self.assertIn("chargpt: ended by patience after 30 of 60 steps: no better validation loss in the last 2 evaluations; "
                      "to continue:\nchargpt: → chargpt resume run --max_iters 120\n", outcome.err)
        self.assertEqual(self.how_it_ended("run"), "patience")
        self.assertEqual({key: metrics(self.folder / "run")[-1][key] for key in ("kind", "step", "ended", "max_iters")},
                         {"kind": "end", "step": 30, "ended": "patience", "max_iters": 60})
        self.assertIn("run: ended by patience after 30 of 60 steps: no better validation loss in the last 2 evaluations ",
                      " ".join(self.succeed("watch", "run").out.split()))
        again = self.succeed("resume", "run", "--json")
        self.assertEqual(again.json["ended"], "patience")
        self.assertIn("ended by patience after 30 of 60 steps", again.err)
        longer = self.succeed("resume", "run", "--max_iters", "500", "--json")
        self.assertIn("patience starts over", longer.err)
        self.assertEqual(longer.json["ended"], "patience")
        self.assertEqual(metrics(self.folder / "run")[-1]["step"], 50)
        patient = self.succeed("resume", "run", "--patience", "3", "--json")
        self.assertIn("ended by patience after 80 of 500 steps: no better validation loss in the last 3 evaluations", patient.err)

    def test_a_finished_run_says_so_and_how_to_go_on(self):
        outcome = self.succeed("train", *SMALL, "--max_iters", "20", "--run", "run")
        self.assertIn("finished after 20 steps; to continue:\nchargpt: → chargpt resume run --max_iters 40\n", outcome.err)
        self.assertEqual(self.how_it_ended("run"), "finished")
        before = (self.folder / "run/config.json").read_bytes()
        for options, changed in ((["--learning_rate", "5e-4"], "train.learning_rate"), (["--max_iters", "10"], "train.max_iters")):
            error = self.fail_with(2, "resume", "run", *options)
            self.assertIn("step-00000020 is the end of its training, so changed options have no effect: " + changed, error)
            self.assertIn("to continue, add --max_iters N, above 20", error)
        self.assertEqual((self.folder / "run/config.json").read_bytes(), before)
        self.succeed("resume", "run", "--max_iters", "22", "--learning_rate", "5e-4")

    def test_fewer_steps_than_were_made_are_refused_where_a_run_goes_on(self):
        self.succeed("train", *SMALL, "--max_iters", "20", "--eval_interval", "10", "--keep", "5", "--run", "run")
        for option, value in (("--max_iters", "5"), ("--max_epochs", "0.001")):
            self.assertRegex(self.fail_with(2, "resume", "run", "--checkpoint", "step-10", "--run", "new", option, value),
                             r"run/checkpoints/step-00000010 has been trained for 10 steps, more than train.max_.* allows \([1-9]\); give a longer length")
        self.assertFalse((self.folder / "new").exists())

    def test_that_no_step_was_better_than_the_beginning_is_told(self):
        told = "no evaluation was better than the one before the first step, val "
        self.assertNotIn(told, self.succeed("train", *SMALL, "--max_iters", "200", "--learning_rate", "0.05", "--run", "run").err)
        worse = self.succeed("train", "--init_from", "run", "--max_iters", "5", "--learning_rate", "3", "--warmup_iters", "0", "--run", "worse")
        first = next(row for row in metrics(self.folder / "worse") if row["kind"] == "eval")["val_loss"]
        self.assertIn(f"{told}{first:.4f}", " ".join(worse.err.split()))

    def test_that_a_run_will_overfit_is_told_with_what_ends_it(self):
        self.write("short.txt", "to be or not to be " * 100)
        def told(*options):
            return self.succeed("train", "default", "--text", "short.txt", "--dry-run", "--max_iters", "300", *options).err.replace("\n", " ")
        self.assertIn("well before the end (train.patience ends the run then); give a longer text", told("--patience", "2", "--eval_interval", "99"))
        self.assertIn("well before the end, which evaluations every 100 steps are too rare to notice; give a longer text, or --eval_interval 30",
                      told("--patience", "2", "--eval_interval", "100"))
        self.assertIn("or --eval_interval 15", told("--patience", "9", "--eval_interval", "30"))
        self.assertIn("give a longer text, --max_epochs 5, or --patience 3", told("--patience", "0"))

    def test_a_run_that_diverged_is_listed_as_that(self):
        self.fail_with(80, "train", *SMALL, "--run", "run", "--max_iters", "500", "--eval_interval", "1", "--learning_rate", "1000",
                       "--weight_decay", "1000", "--grad_clip", "0", "--warmup_iters", "0")
        self.assertEqual(metrics(self.folder / "run")[-1]["ended"], "diverged")
        self.assertEqual(self.how_it_ended("run"), "diverged")

    def test_without_metrics_the_checkpoint_says_how_the_run_ended(self):
        self.succeed("train", *SMALL, "--max_iters", "20", "--run", "run")
        (self.folder / "run/metrics.jsonl").unlink()
        self.assertEqual(self.how_it_ended("run"), "finished")

    def test_what_comes_after_the_last_save_is_how_the_run_ended(self):
        self.succeed("train", *SMALL, "--max_iters", "20", "--run", "run")
        path = self.folder / "run/metrics.jsonl"
        path.write_text(path.read_text().replace('"ended":"finished"', '"ended":"diverged"'))
        self.assertEqual(self.how_it_ended("run"), "diverged")

    def test_a_run_under_way_is_listed_as_running_and_a_killed_one_as_unknown(self):
        process = self.started("train", *SMALL, "--max_iters", "1000000000", "--eval_interval", "5", "--run", "run", stderr=subprocess.DEVNULL)
        self.wait_for_save("run")
        self.assertEqual(self.how_it_ended("run"), "running")
        process.kill()
        process.wait()
        self.assertEqual(self.how_it_ended("run"), "unknown")

    def test_seconds_are_used_the_end_is_evaluated_and_the_rest_does_not_count(self):
        begun = time.time()
        outcome = self.succeed("train", *SMALL, "--run", "run", "--max_seconds", "4", "--json")
        self.assertIn(outcome.json["ended"], ("finished", "seconds"))
        self.assertIn("their time does not count towards max_seconds", outcome.err)
        self.assertIn("baselines", outcome.json)
        rows = metrics(self.folder / "run")
        end = rows[-1]
        self.assertEqual(end["kind"], "end")
        self.assertLess(end["seconds"], time.time() - begun)
        last, = [row for row in rows if row["kind"] == "eval" and row["step"] == end["step"]]
        self.assertIsNotNone(last["val_loss"])
        config = self.json_of("run/config.json")
        self.assertEqual(config["origin"]["train.decay_steps"], "train.max_seconds")
        self.assertEqual(config["train"]["decay_steps"][-1], end["step"])
        self.assertEqual(self.json("resume", "run")["checkpoint"], outcome.json["checkpoint"])
        self.assertEqual(metrics(self.folder / "run")[-1]["step"], end["step"])

    def test_seconds_that_are_over_at_once_make_one_update_and_say_so(self):
        outcome = self.succeed("train", *SMALL, "--run", "run", "--max_seconds", "0.01", "--json")
        self.assertIn("leaves no time to train", outcome.err)
        self.assertIn("ended", outcome.json)
        self.assertEqual(metrics(self.folder / "run")[-1]["step"], 1)

    def test_minutes_choose_a_config_where_none_is_given(self):
        plan = self.succeed("train", "--minutes", "5", "--text", SAMPLE_TEXT, "--dry-run", "--json")
        self.assertIn("chargpt: chose default (6 layers of width 64, batches of 8 x 128)", plan.err)
        self.assertEqual(plan.json["config"], "default")
        self.assertEqual(plan.json["length_set_by"], "train.max_epochs")
        given = self.succeed("train", "ladder/bigram", "--minutes", "5", "--text", SAMPLE_TEXT, "--dry-run", "--json")
        self.assertNotIn("chose", given.err)
        self.assertEqual((given.json["config"], given.json["length_set_by"]), ("ladder/bigram", "train.max_seconds"))
        wider = self.succeed("train", "--minutes", "5", "--n_embd", "32", "--max_epochs", "3", "--text", SAMPLE_TEXT, "--dry-run", "--json")
        self.assertAlmostEqual(wider.json["epochs"], 3, places=1)
        self.assertRegex(wider.err, r"chose default \(6 layers of width 32, batches of 8 x 128\): .*, of which it makes at most 3 epochs\n")
        self.assertEqual(self.json("train", "--minutes", "0.01", "--text", SAMPLE_TEXT, "--dry-run")["config"], "quick")
        self.assertIn("--minutes and --max_seconds exclude each other", self.fail_with(2, "train", "--minutes", "1", "--max_seconds", "60"))

    def stopped_when(self, condition, *arguments):
        """The stderr of the program, sent SIGTERM as soon as `condition` holds."""
        process = self.started(*arguments)
        self.wait_for(condition, process)
        return self.ended_by(process, timeout=120)

    def test_a_stop_in_a_long_update_is_answered_and_the_update_made_again(self):
        command = ["train", *SMALL, "--gradient_accumulation_steps", "2000", "--max_iters", "3", "--eval_interval", "1", "--dropout", "0.1"]
        for engine in ("cpu", "libtorch"):
            with self.subTest(engine=engine):
                run, whole = f"run-{engine}", f"whole-{engine}"
                saved = (self.folder / run / "checkpoints/LATEST").exists
                err = self.stopped_when(saved, *command, "--run", run, "--engine", engine)
                self.assertIn("chargpt: stopping; a second signal ends at once", err)
                self.assertIn(f"chargpt resume {run}", err)
                self.assertEqual(self.how_it_ended(run), "stopped")
                self.succeed("resume", run, "--engine", engine)
                self.succeed(*command, "--run", whole, "--engine", engine)
                self.assertEqual(tensors(self.folder / run, 3), tensors(self.folder / whole, 3))

    def test_a_stop_in_the_first_evaluation_saves_a_run_that_goes_on(self):
        self.write("long.txt", TEXT * 40)
        command = last_wins(["train", *SMALL, "--text", "long.txt", "--max_iters", "2"])
        err = self.stopped_when((self.folder / "run/metrics.jsonl").exists, *command, "--run", "run")
        if "stopped at step 0 and saved" in err:
            self.assertEqual(metrics(self.folder / "run", "eval"), [])
        self.succeed("resume", "run")
        self.succeed(*command, "--run", "whole")
        self.assertEqual(tensors(self.folder / "run", 2), tensors(self.folder / "whole", 2))
        self.assertEqual(*([(row["step"], row["val_loss"]) for row in metrics(self.folder / run, "eval")] for run in ("run", "whole")))
