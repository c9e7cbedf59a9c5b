"""Why runs end: in the terminal, in `runs`, in metrics and JSON; what a stop does wherever it comes; that seconds are kept."""

import subprocess
import time

from checkpoints import checkpoint, name_of, remove
from program import SAMPLE_TEXT, ProgramTest, metrics

SMALL = ["nanogpt-cpu", "--text", SAMPLE_TEXT, "--n_layer", "1", "--n_head", "1", "--n_embd", "16", "--block_size", "8", "--batch_size", "4",
         "--threads", "1", "--tokens", "5", "--sample_tokens", "5"]


class EndingTest(ProgramTest):
    def how_it_ended(self, run):
        """By `runs`, as JSON and as a table."""
        row, = [row for row in self.json("runs", ".") if row["run"] == run]
        self.assertIn(f" {row['ended']} ", self.succeed("runs", ".").out)
        return row["ended"]

    def test_fewer_steps_than_were_made_are_refused_where_a_run_goes_on(self):
        self.succeed("train", *SMALL, "--max_iters", "20", "--eval_interval", "10", "--keep", "5", "--run", "run")
        remove(checkpoint(self.folder / "run", 20))
        for option, value in (("--max_iters", "5"), ("--max_epochs", "0.001")):
            self.assertRegex(self.fail_with(2, "resume", "run", option, value),
                             rf"run/checkpoints/{name_of(10)} has been trained for 10 steps, more than train.max_.* allows \([1-9]\); give a longer length")

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
        self.assertEqual(config["origin"]["train.decay_steps"], "program train.max_seconds")
        self.assertEqual(config["train"]["decay_steps"][-1], end["step"])
        self.assertEqual(self.json("resume", "run")["checkpoint"], outcome.json["checkpoint"])
        self.assertEqual(metrics(self.folder / "run")[-1]["step"], end["step"])

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
                err = self.stopped_when(lambda: self.last_step(run), *command, "--run", run, "--engine", engine)
                self.assertIn("chargpt: stopping; a second signal ends at once", err)
                self.assertIn(f"chargpt resume {run}", err)
                self.assertEqual(self.how_it_ended(run), "stopped")
                self.succeed("resume", run, "--engine", engine)
                self.succeed(*command, "--run", whole, "--engine", engine)
                self.assertEqual(self.tensors(run, 3), self.tensors(whole, 3))
