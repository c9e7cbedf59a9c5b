"""runs: lists of runs by text, and what tells runs apart."""

import datetime
import pathlib
import unittest

from program import SAMPLE_TEXT, ProgramTest


class RunsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("long", "ladder/bigram", 60)
        self.train("short", "ladder/bigram", 20)

    def train_others(self):
        self.write("other.txt", pathlib.Path(SAMPLE_TEXT).read_text()[:5000])
        self.train("other", "ladder/bigram", 10, "--text", "other.txt")
        self.train("leaking", "ladder/average", 60)

    def test_runs_stand_by_text_best_first_and_leaking_ones_last(self):
        self.train_others()
        lines = self.succeed("runs", ".").out.splitlines()
        self.assertEqual(lines[0], "other.txt: 5,000 characters, the last 10 % held out")
        self.assertEqual(lines[2].split()[0], "other")
        sample = next(i for i, line in enumerate(lines) if line.startswith("sample.txt: "))
        self.assertEqual([line.split()[0] for line in lines[sample + 2:]], ["long", "short", "leaking"])
        self.assertIn("(leaks)", lines[-1])

    def test_a_list_fits_its_terminal(self):
        self.train_others()
        for columns in (60, 80, 120):
            lines = self.lines_at(columns, "runs", ".")
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertIn("finished", "".join(lines))
            self.assertIn(str(datetime.date.today().year), "".join(lines))

    def test_json_tells_text_and_date(self):
        self.train_others()
        rows = {row["run"]: row for row in self.succeed("runs", ".", "--json").json}
        self.assertEqual(rows["other"]["text"], ["other.txt"])
        self.assertEqual(rows["other"]["text_tokens"], 5000)
        self.assertTrue(rows["leaking"]["leaks"])
        begun = datetime.datetime.strptime(rows["long"]["begun"], "%Y-%m-%dT%H:%M:%SZ")
        self.assertLess(abs((datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - begun).total_seconds()), 600)

    def test_two_runs_are_told_apart_by_what_is_not_the_same(self):
        json = self.succeed("runs", "long", "short", "--json").json
        self.assertEqual(json["differences"], [{"option": "train.max_iters", "values": [60, 20]}])
        self.assertEqual([run["step"] for run in json["runs"]], [60, 20])
        lines = self.succeed("runs", "long", "short").out.splitlines()
        self.assertEqual(lines[0].split(), ["long", "short"])
        self.assertEqual(lines[1].split(), ["train.max_iters", "60", "20"])
        self.assertIn("best val loss", lines[3])
        self.assertNotIn("learning_rate", "".join(lines))

    def test_differences_fit_their_terminal_and_losses_of_different_texts_are_not_to_be_compared(self):
        self.train_others()
        for columns in (60, 80, 120):
            lines = self.lines_at(columns, "runs", "long", "other", "leaking")
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertEqual(lines[-1], "do not compare the losses.")

    def test_runs_of_equal_configs_say_so(self):
        self.train("again", "ladder/bigram", 60)
        self.assertRegex(self.succeed("runs", "long", "again").out, r"every option +the same")

    def test_what_cannot_be_compared_is_named(self):
        self.assertIn("no run or checkpoint at lung; did you mean ./long?", self.fail_with(66, "runs", "long", "lung"))
        self.assertIn("long is one run, and holds none; name a second run", self.fail_with(2, "runs", "long"))
        self.fail_with(66, "runs", "nothing")


if __name__ == "__main__":
    unittest.main()
