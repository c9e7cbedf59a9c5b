"""train --teacher: runs that learn from others."""

import shutil

from checkpoints import checkpoint, checkpoints
from program import QUICK, SAMPLE_TEXT, SMALL, ProgramTest, last_wins, metrics


class TeachersTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("a", "default", 30, *SMALL)
        self.train("runs/b", "default", 30, *SMALL, "--seed", "7", "--n_embd", "24")

    def student(self, run, *more):
        return last_wins(["train", "default", "--run", run, "--max_iters", "30", *QUICK, *SMALL, "--quiet", *more])

    def test_several_teachers_by_option_by_name_and_by_config(self):
        told = self.succeed(*[word for word in self.student("both", "--teacher", "a") if word != "--quiet"], "--teacher", "b")
        self.assertIn("the targets are mixed with the mean of what 2 teachers predict (train.teacher_weight 0.75); all losses are of the text alone",
                      " ".join(told.err.split()))
        config = self.json_of("both/config.json")
        self.assertEqual(config["train"]["teacher"], ["a", "b"])
        steps = [checkpoints(self.folder / run)[0] for run in ("a", "runs/b")]
        self.assertEqual([(teacher["name"], teacher["step"]) for teacher in self.state("both")["teachers"]], list(zip("ab", steps, strict=True)))
        self.write("mine.json", {"extends": "default", "train": {"teacher": ["a", "b"]}})
        self.succeed(*[word if word != "default" else "mine.json" for word in self.student("by-config")])
        self.train("alone", "default", 30, *SMALL)

        def losses(run):
            return [row["loss"] for row in metrics(self.folder / run, "train")]

        self.assertEqual(losses("both"), losses("by-config"))
        self.assertEqual(losses("both")[0], losses("alone")[0])  # before the first update: the text's own
        self.assertNotEqual(losses("both"), losses("alone"))

        # It is a run like any other.
        self.assertEqual(self.json("eval", "both", "--quiet")["loss"], self.figures_of("both")["loss"])
        self.succeed("sample", "both", "--tokens", "5", "--quiet")
        self.succeed("page", "both", "-o", "both.html", "--quiet")
        self.assertEqual(self.json("reproduce", "both", "--quiet")["verdict"], "bits")

    def test_a_student_goes_on_as_long_as_its_teachers_are_what_they_were(self):
        self.succeed(*self.student("whole", "--teacher", "a"))
        (self.folder / "a").rename(self.folder / "elsewhere")
        for words in (["resume", "whole", "--max_iters", "40"], ["reproduce", "whole"]):
            self.assertRegex(self.fail_with(66, *words, "--quiet"),
                             r"train.teacher: no run or checkpoint at a.*; a run needs its teachers: put this one back")
        self.train("a", "default", 30, *SMALL, "--seed", "9")
        now, was = (checkpoints(self.folder / run)[0] for run in ("a", "elsewhere"))
        checkpoint(self.folder / "a", now).rename(checkpoint(self.folder / "a", was))
        for words in (["resume", "whole", "--max_iters", "40"], ["reproduce", "whole"]):
            self.assertRegex(self.fail_with(65, *words, "--quiet"), "train.teacher: .*a/checkpoints/step-.* has other weights than when the run learned from it")
        self.assertIn("changed: train.teacher", self.succeed("resume", "whole", "--max_iters", "40", "--teacher", "elsewhere").err)

    def test_comparisons_take_teachers(self):
        options = ["--text", SAMPLE_TEXT, *SMALL, "--max_iters", "10", "--sample_tokens", "0", "--threads", "1", "--quiet"]
        compared = ["compare", "default", *options, "--vary", "train.teacher_weight=0,0.5", "--teacher", "a", "--out", "out", "--json"]
        first = self.succeed(*compared).json
        self.assertEqual(len({result["mean"] for result in first["results"]}), 2)
        shutil.rmtree(next((self.folder / "out").glob("*-seed1337")))
        self.assertEqual({result["mean"] for result in self.succeed(*compared).json["results"]}, {result["mean"] for result in first["results"]})
