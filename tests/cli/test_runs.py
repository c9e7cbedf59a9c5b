"""runs: lists of runs by text; how runs differ, what they are called, and which of their weights are meant."""

import datetime
import re
import signal

from program import SAMPLE_TEXT, SMALL, TEXT, ProgramTest, metrics


class TwoRunsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("long", "ladder/bigram", 60)
        self.train("short", "ladder/bigram", 20)

    def train_others(self):
        self.train("other", "ladder/bigram", 10, text=TEXT[:5000])
        self.train("leaking", "ladder/average", 60)


class RunsTest(TwoRunsTest):
    def test_a_list_fits_its_terminal(self):
        self.train_others()
        for columns in (60, 80, 120):
            lines = self.fitting_lines(columns, "runs", ".")
            self.assertIn("finished", "".join(lines))
            self.assertIn(str(datetime.date.today().year), "".join(lines))

    def test_json_tells_text_and_date(self):
        self.train_others()
        self.write("short/events.out.tfevents.1700000000.host", "")
        rows = {row["run"]: row for row in self.json("runs", ".", env={"TZ": "XYZ-5"})}  # wherever that is
        self.assertEqual(rows["short"]["begun"], "2023-11-14T22:13:20Z")  # by its oldest file of events
        self.assertEqual(rows["other"]["text"], ["other.txt"])
        self.assertEqual(rows["other"]["text_tokens"], 5000)
        self.assertTrue(rows["leaking"]["leaks"])
        begun = datetime.datetime.strptime(rows["long"]["begun"], "%Y-%m-%dT%H:%M:%SZ")
        self.assertLess(abs((datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - begun).total_seconds()), 600)

    def test_a_figure_has_one_name_in_metrics_and_json(self):
        plan, last = metrics(self.folder / "long", "plan")[0], metrics(self.folder / "long", "eval")[-1]
        listed = next(row for row in self.json("runs", ".") if row["run"] == "long")
        described = self.json("inspect", "long")
        compared = self.json("inspect", "long", "short")["runs"][0]
        dry = self.json("train", "ladder/bigram", "--text", SAMPLE_TEXT, "--dry-run")
        for name in ("model_type", "parameters", "max_iters", "vocab_size", "expected_seconds"):
            self.assertIn(name, plan)
            self.assertIn(name, dry)
        for figures in (listed, described, compared):
            self.assertEqual((figures["best_val_loss"], figures["step"]), (last["best_val_loss"], last["step"]))
        self.assertEqual((listed["model_type"], described["vocab_size"], described["val_loss"]), (plan["model_type"], plan["vocab_size"], last["val_loss"]))


class DifferencesTest(TwoRunsTest):
    """inspect of two runs."""

    def test_two_runs_are_told_apart_by_what_is_not_the_same(self):
        told = self.json("inspect", "long", "short")
        self.assertEqual(told["differences"], [{"option": "train.max_iters", "values": [60, 20]}])
        self.assertEqual([run["step"] for run in told["runs"]], [60, 20])
        self.assertEqual(told["runs"][0]["best_val_loss"], self.json("inspect", "long")["best_val_loss"])
        lines = self.succeed("inspect", "long", "short").out.splitlines()
        self.assertEqual([lines[0].split(), lines[1].split()], [["long", "short"], ["train.max_iters", "60", "20"]])
        self.assertRegex(lines[3], r"^best_val_loss +\d\.\d{4} +\d\.\d{4}$")
        self.assertNotIn("learning_rate", "".join(lines))

    def test_differences_fit_their_terminal_and_losses_of_different_texts_are_not_to_be_compared(self):
        self.train_others()
        for columns in (60, 80, 120):
            lines = self.fitting_lines(columns, "inspect", "leaking", "other")
            self.assertTrue(" ".join(lines).endswith("do not compare the losses."), lines)
            self.assertIn("(leaks)", "".join(lines))
        self.assertNotIn("do not compare", self.succeed("inspect", "long", "short").out)
        for option in ("val_fraction", "test_fraction"):
            self.train(option, "ladder/bigram", 2, "--" + option, "0.2")
            self.assertIn("do not compare the losses.", self.succeed("inspect", "long", option).out)

    def test_of_long_lists_that_begin_alike_the_part_is_shown_that_does_not(self):
        for name, rate in (("a.json", 0.5), ("b.json", 0.25)):
            groups = [{"match": "conv_" * 9, "weight_decay": 0}, {"match": "wte", "learning_rate": rate}]
            self.write(name, {"extends": "ladder/bigram", "train": {"groups": groups}})
        self.assertRegex(self.lines_at(80, "inspect", "a.json", "b.json")[1], r'^train.groups +\.\.\."learning_rate":0\.5,\S*\.\.\. +\.\.\."learning_rate":0\.25,\S*\.\.\.$')


class CheckpointLineTest(ProgramTest):
    """Which weights a figure or a text is of is said on stderr, and in JSON."""

    def test_weights_that_were_never_evaluated_are_called_so(self):
        self.train("run", "nanogpt-cpu", 10, *SMALL, "--eval_interval", "10", "--keep", "9")
        process = self.started("resume", "run", "--max_iters", "1000000", "--eval_interval", "1000000", "--sample_tokens", "0")
        self.assertTrue(any(re.search(r"step [\d,]+ of 1,000,000", line) for line in process.stderr))
        self.ended_by(process, signal.SIGINT)
        self.assertRegex(self.succeed("eval", "run").err, r"chargpt: checkpoint: step 10, the best; the last is step [\d,]+ \(not evaluated\)\n")
        self.assertFalse(self.json("eval", "run")["checkpoint"]["last_evaluated"])
