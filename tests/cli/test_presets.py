"""What is said of the presets is of the presets as they are, and the script that says it measures and writes."""

import re
import shutil
import sys

from program import PROGRAM, QUICK, SAMPLE_TEXT, SOURCE, ProgramTest

sys.path.append(str(SOURCE / "scripts/measure"))
import presets  # noqa: E402 (found by the line above)

AGAIN = "run scripts/measure/presets.py --only {0} (all of them where a default has changed)"


class ExpectedFiguresTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.program, self.expected = presets.Presets(PROGRAM), presets.load(SOURCE / "configs")

    def test_no_preset_has_changed_since_it_was_measured(self):
        defaults = self.program.defaults()
        self.assertEqual(presets.changed_defaults(self.expected["defaults"], defaults), [], AGAIN.format("each"))
        for preset, row in self.expected["rows"].items():
            self.assertEqual(row["config"], self.program.config_digest(preset, defaults), f"{preset} has changed: {AGAIN.format(preset)}")

    def test_the_table_is_that_of_the_figures(self):
        text = (SOURCE / "configs" / "README.md").read_text(encoding="utf-8")
        self.assertIn("\n".join([presets.BEGIN, presets.table(self.expected), presets.END]), text, "run scripts/measure/presets.py --table")

    def test_every_measured_row_has_its_seeds_machine_and_date(self):
        for preset, row in self.expected["rows"].items():
            with self.subTest(preset):
                if "not_measured" in row:
                    continue
                self.assertGreaterEqual(len(row["runs"]), 3)
                self.assertIn(row["machine"], self.expected["machines"])
                self.assertRegex(row["date"], r"^\d{4}-\d\d-\d\d$")
                self.assertAlmostEqual(row["loss"], sum(run["loss"] for run in row["runs"]) / len(row["runs"]), places=6)

    def test_configs_prints_them(self):
        rows = {row["name"]: row["expected"] for row in self.json("configs")}
        self.assertEqual({preset for preset, row in rows.items() if row}, set(self.expected["rows"]))
        for preset, row in self.expected["rows"].items():
            self.assertEqual(rows[preset].get("loss"), row.get("loss"))
        self.assertIn("expected loss", self.succeed("configs").out)


class MeasuringTest(ProgramTest):
    def measure(self, *arguments):
        self.script("measure/presets.py", "--program", PROGRAM, "--folder", self.folder, "--work", self.folder / "runs", *arguments,
                    "--", "--max_iters", "20", *QUICK)

    def setUp(self):
        super().setUp()
        shutil.copy(SOURCE / "configs" / "README.md", self.folder)

    def test_trains_every_seed_and_writes_figures_and_table(self):
        self.measure("--only", "ladder/bigram", "--seeds", "3")
        row = self.json_of("expected.json")["rows"]["ladder/bigram"]
        self.assertEqual([run["seed"] for run in row["runs"]], [1337, 1338, 1339])
        self.assertEqual([run["step"] for run in row["runs"]], [20] * 3)
        self.assertLess(row["ci95"][0], row["loss"])
        self.assertIn(f"{row['loss']:.4f} ±", (self.folder / "README.md").read_text())
        self.assertIn("processors", (self.folder / "README.md").read_text())
        # Again: the same figures from the runs that are there, and another preset's row beside it.
        self.measure("--only", "ladder/average", "--seeds", "2")
        self.assertEqual(self.json_of("expected.json")["rows"]["ladder/bigram"], row)
        self.assertIn("**leaks**", (self.folder / "README.md").read_text())
