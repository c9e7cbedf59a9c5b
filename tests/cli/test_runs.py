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
    def test_runs_stand_by_text_best_first_and_leaking_ones_last(self):
        self.train_others()
        lines = self.succeed("runs", ".").out.splitlines()
        self.assertEqual(lines[0], "other.txt: 5,000 characters, the last 10 % held out")
        self.assertEqual(lines[2].split()[0], "other")
        sample = next(i for i, line in enumerate(lines) if line.startswith("sample.txt: "))
        self.assertEqual([line.split()[0] for line in lines[sample + 2:]], ["long", "short", "leaking"])
        self.assertIn("(leaks)", lines[-1])

    def test_losses_of_other_held_out_parts_stand_apart(self):
        self.train("less", "ladder/bigram", 20, "--max_val_tokens", "1000")
        self.train("a", "ladder/bigram", 20, "--documents", "lines")
        self.train("b", "ladder/bigram", 20, "--documents", "lines", "--split_seed", "7", "--val_fraction", "0.125")
        out = self.succeed("runs", ".").out
        self.assertEqual(out.count("sample.txt: "), 4)
        self.assertIn(", 12.5 % of its documents held out", out)
        for pair in (("long", "less"), ("a", "b")):
            self.assertIn("do not compare the losses", self.succeed("inspect", *pair).out)
        self.assertNotIn("do not compare the losses", self.succeed("inspect", "long", "short").out)

    def test_losses_of_other_texts_of_one_name_and_length_stand_apart(self):
        for number in range(2):
            self.write(f"{number}/part.txt", TEXT[number * 5000:(number + 1) * 5000])
            self.train(f"of-{number}", "ladder/bigram", 2, "--text", f"{number}/part.txt")
        self.assertEqual(self.succeed("runs", ".").out.count("part.txt: 5,000 characters"), 2)

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

    def test_what_is_not_listed_is_named_with_the_command_that_shows_it(self):
        self.assertEqual(self.fail_with(2, "runs", "long", "my short"),
                         "runs lists the runs of one folder; to compare two: chargpt inspect long 'my short'")
        self.assertEqual(self.fail_with(2, "runs", "long"), "long is a run, not a folder of runs; to describe it: chargpt inspect long")
        self.fail_with(66, "runs", "nothing")
        (self.folder / "texts").mkdir()
        self.assertEqual(self.succeed("runs", "texts").err, "chargpt: there is no run in texts\n")


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

    def test_configs_and_runs_are_told_apart_too(self):
        self.write("mine.json", {"extends": "ladder/bigram", "train": {"max_iters": 7}})
        self.assertEqual(self.json("inspect", "mine.json", "bigram")["runs"], [None, None])
        self.assertRegex(self.succeed("inspect", "mine.json", "bigram").out, r"^ +mine.json +bigram\ntrain.max_iters +7 +\d+\n$")
        self.assertRegex(self.succeed("inspect", "mine.json", "long").out, r"train\.max_iters +7 +60\n(.*\n)+\n?.*best_val_loss +\d")

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

    def test_runs_of_equal_configs_say_so(self):
        self.train("again", "ladder/bigram", 60)
        self.assertRegex(self.succeed("inspect", "long", "again").out, r"every option +the same")

    def test_what_cannot_be_compared_is_named(self):
        self.assertEqual(self.fail_with(66, "inspect", "long", "lung"), "no run, config or text at lung; did you mean long?")
        self.assertIn("is a text; two runs or configs can be compared", self.fail_with(2, "inspect", "long", SAMPLE_TEXT))
        self.assertIn("--verify", self.fail_with(2, "inspect", "long", "short", "--verify"))


class NamesTest(ProgramTest):
    """A run is named alike in every command, and may be left out where there is one in runs/."""

    def test_without_a_run_the_newest_is_taken_and_named(self):
        for command in (["eval"], ["sample"], ["page"], ["watch"], ["resume"], ["audit"], ["score"], ["inspect", "--verify"],
                        ["export", "--out", "x"], ["attention", "--prompt", "a"], ["explain", "--prompt", "a"], ["bench", "sample"]):
            error = self.fail_with(66, *command)
            self.assertEqual(error, "there is no run in runs/, and none was named: name a run's folder, or train one with `chargpt train`")
        self.train("runs/first", "nanogpt-cpu", 4, *SMALL)
        self.train("runs/second", "nanogpt-cpu", 6, *SMALL)
        self.succeed("export", "runs/first", "--out", "runs/no-run")
        (self.folder / "runs/second").rename(self.folder / "runs/second.old-1")  # as --overwrite does
        self.train("runs/second", "nanogpt-cpu", 8, *SMALL)
        (self.folder / "runs/second.old-1/run.json").touch()
        for command in (["eval"], ["sample", "--tokens", "3"], ["sample", "-"], ["page"], ["watch"], ["audit", "--samples", "1", "--tokens", "50"], ["score"],
                        ["score", "-"], ["score", SAMPLE_TEXT], ["inspect", "--verify"], ["export", "--out", "x"], ["attention", "--prompt", "a"],
                        ["explain", "--prompt", "a"], ["bench", "sample", "--repeats", "1", "--tokens", "3"], ["resume", "--max_iters", "9"]):
            self.assertIn("chargpt: run: runs/second, the newest\n", self.succeed(*command, stdin=b"The").err, command)
        self.assertEqual(self.succeed("sample", "-", "--tokens", "3", "--quiet", stdin=b"The").out[:3], "The")
        self.assertIn(" characters of standard input", self.succeed("score", "-", stdin=b"The").out)
        self.assertIn(f" characters of {SAMPLE_TEXT}", self.succeed("score", SAMPLE_TEXT, "--show", "9").out)
        self.assertEqual(self.succeed("eval", "--quiet").err, "")

    def test_every_command_knows_a_run_by_its_name_alone(self):
        self.train("runs/mine", "nanogpt-cpu", 4, *SMALL)
        self.train("runs/other", "nanogpt-cpu", 6, *SMALL)
        for command in (["eval", "mine"], ["sample", "mine", "--tokens", "3"], ["page", "mine", "other"], ["watch", "mine"], ["score", "mine"], ["inspect", "mine"],
                        ["inspect", "mine", "other"], ["export", "mine", "--out", "x"], ["compare", "mine", "other"], ["bench", "sample", "mine", "--tokens", "3", "--repeats", "1"],
                        ["train", "nanogpt-cpu", *SMALL, "--init_from", "mine", "--dry-run", "--text", SAMPLE_TEXT], ["resume", "mine", "--max_iters", "5"],
                        ["inspect", "other", "--verify"], ["sample", "mine", "--help"]):
            self.succeed(*command)
        for command in (["eval", "mien"], ["export", "mien", "--out", "y"], ["inspect", "mien"], ["inspect", "mine", "mien"], ["watch", "mien"], ["resume", "mien"]):
            self.assertIn("did you mean runs/mine?", self.fail_with(66, *command), command)

    def test_an_existing_path_is_never_a_pattern(self):
        self.train("[a]", "nanogpt-cpu", 4, *SMALL)
        self.train("a", "nanogpt-cpu", 6, *SMALL)
        self.assertTrue(self.succeed("page", "[a]", "--no-model").out.startswith("[a]/page.html"))
        self.assertEqual(self.json("inspect", "[a]")["step"], 4)
        self.assertEqual([run["step"] for run in self.json("inspect", "[a]", "a")["runs"]], [4, 6])
        self.write("[a].txt", "The bracket. " * 9)
        self.write("a.txt", "another")
        self.assertEqual(self.json("score", "a", "[a].txt")["characters"], 117)
        self.assertEqual(self.json("eval", "a", "--text", "[a].txt")["tokens"], 116)

    def test_a_file_that_is_not_there_is_answered_with_the_nearest(self):
        self.write("book.txt", "A book. " * 99)
        self.write("mine.json", "{}")
        self.train("runs/mine", "nanogpt-cpu", 2, *SMALL)
        for command, near in ((["score", "mine", "bok.txt"], "book.txt"), (["eval", "mine", "--text", "bok.txt"], "book.txt"), (["train", "--text", "bok.txt"], "book.txt"),
                              (["train", "mien.json"], "mine.json"), (["inspect", "mien.json"], "mine.json")):
            self.assertIn(f"; did you mean {near}?", self.fail_with(66, *command), command)

    def test_commands_in_messages_can_be_copied(self):
        name = "a; touch PWNED"
        self.train(name, "nanogpt-cpu", 4, *SMALL)
        for command in (["train", "nanogpt-cpu", "--run", name, "--text", SAMPLE_TEXT], ["runs", name], ["train", name], ["train", name + "/checkpoints/step-00000004/model.safetensors"]):
            self.assertIn("'a; touch PWNED'", self.fail_with(75 if "--run" in command else 2, *command).replace("/checkpoints/step-00000004'", "'"), command)
        self.assertIn("chargpt: → chargpt resume 'a; touch PWNED' --max_iters 10\n", self.succeed("resume", name, "--max_iters", "5", "--sample_tokens", "0").err)
        self.assertIn("A sample; for more: chargpt sample 'a; touch PWNED'", self.succeed("resume", name, "--max_iters", "6").out)

    def test_an_empty_name_is_refused(self):
        self.train("runs/mine", "nanogpt-cpu", 4, *SMALL)
        for option, command in (("--html", ["score", "mine"]), ("--page", ["explain", "mine", "--prompt", "a"]), ("--run", ["train", "nanogpt-cpu"]), ("--out", ["export", "mine"]),
                                ("--output", ["page", "mine"]), ("--init_from", ["train", "nanogpt-cpu"]), ("--checkpoint", ["eval", "mine"]), ("--prompt-file", ["sample", "mine"]),
                                ("--show", ["configs"]), ("--out", ["compare", "nanogpt-cpu"])):
            for words in ([option, ""], [option + "="]):
                self.assertIn("an empty value is not understood", self.fail_with(2, *command, *words), command)
        for command in ("eval", "sample", "page", "inspect", "watch", "runs", "resume", "train", "compare"):
            self.assertIn("an empty argument is given in the place of ", self.fail_with(2, command, ""), command)
        self.succeed("sample", "mine", "--prompt", "", "--tokens", "3")


class CheckpointLineTest(ProgramTest):
    """Which weights a figure or a text is of is said on stderr, and in JSON."""

    def test_the_checkpoint_is_named_with_the_last_one(self):
        self.train("run", "nanogpt-cpu", 20, *SMALL, "--eval_interval", "10", "--keep", "9")
        self.assertIn("chargpt: checkpoint: step 20, the best and the last\n", self.succeed("eval", "run").err)
        commands = (["eval", "run"], ["sample", "run", "--tokens", "3"], ["score", "run"], ["audit", "run", "--samples", "1", "--tokens", "50"], ["page", "run"],
                    ["export", "run", "--out", "x"], ["attention", "run", "--prompt", "a"], ["explain", "run", "--prompt", "a"])
        for command in commands:
            err = self.succeed(*command, "--checkpoint", "step-10", *(["--overwrite"] if command[0] == "export" else [])).err
            self.assertEqual(err.count("chargpt: checkpoint: step 10; the last is step 20; the best is step 20\n"), 1, err)
        for command in (["eval", "run"], ["sample", "run", "--tokens", "3"], ["score", "run"], ["audit", "run", "--samples", "1", "--tokens", "50"], ["export", "run", "--out", "y"], ["page", "run"]):
            checkpoint = self.json(*command, "--checkpoint", "step-10")["checkpoint"]
            self.assertEqual({key: checkpoint[key] for key in ("step", "best", "last_step", "last_evaluated")},
                             {"step": 10, "best": False, "last_step": 20, "last_evaluated": True}, command)

    def test_weights_that_were_never_evaluated_are_called_so(self):
        self.train("run", "nanogpt-cpu", 10, *SMALL, "--eval_interval", "10", "--keep", "9")
        process = self.started("resume", "run", "--max_iters", "1000000", "--eval_interval", "1000000", "--sample_tokens", "0")
        self.assertTrue(any(re.search(r"step [\d,]+ of 1,000,000", line) for line in process.stderr))
        self.ended_by(process, signal.SIGINT)
        self.assertRegex(self.succeed("eval", "run").err, r"chargpt: checkpoint: step 10, the best; the last is step [\d,]+ \(not evaluated\)\n")
        self.assertFalse(self.json("eval", "run")["checkpoint"]["last_evaluated"])
